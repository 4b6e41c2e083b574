"""The world that manifests meet, and the judgement of a document in it."""
