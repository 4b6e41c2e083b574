"""What the server's Go code says to objects that run pods (Jobs, Deployments, StatefulSets and others), and to Services."""
