#!/usr/bin/env bash
# What topPods of the official JavaScript client says about the memory of training pods.
#
# Expected: the sum of the requests of a pod's containers, for any quantity that Kubernetes takes.
# Happens: from the second container on, the sum of requests starts from the sum of limits: a trainer (request 1Gi, limit 4Gi)
#   with a sidecar (1Gi, 1Gi) requests 5Gi. The sum of CPU requests is right. A fraction with a unit, `1.5Gi`, raises a SyntaxError.
# Versions: @kubernetes/client-node 1.4.0. The API server is replaced by its reply, so that no cluster is needed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-fund --no-audit @kubernetes/client-node@1.4.0
cat > finding.mjs <<'JAVASCRIPT'
import { topPods } from '@kubernetes/client-node';

const GIB = 2n ** 30n;
const container = ([request, limit], index) => ({
  name: `c${index}`,
  resources: { requests: { cpu: '1', memory: request }, limits: { cpu: '4', memory: limit } },
});

async function requests(...memory) {
  const pod = { metadata: { name: 'train' }, spec: { containers: memory.map(container) } };
  const api = { listNamespacedPod: async () => ({ items: [pod] }) };
  const metrics = { getPodMetrics: async () => ({ items: [] }) };
  try {
    const [status] = await topPods(api, metrics, 'team');
    return `${status.Memory.RequestTotal / GIB}Gi, ${status.CPU.RequestTotal} CPUs`;
  } catch (error) {
    return String(error);
  }
}

console.log('1Gi:', await requests(['1Gi', '4Gi']));
console.log('1Gi + 1Gi:', await requests(['1Gi', '4Gi'], ['1Gi', '1Gi']));
console.log('1.5Gi:', await requests(['1.5Gi', '2Gi']));
JAVASCRIPT
node finding.mjs | tee seen
diff seen - <<'SEEN'
1Gi: 1Gi, 1 CPUs
1Gi + 1Gi: 5Gi, 2 CPUs
1.5Gi: SyntaxError: Cannot convert 1.5 to a BigInt
SEEN
