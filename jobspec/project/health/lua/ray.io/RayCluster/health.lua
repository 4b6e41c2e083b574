-- A RayCluster, by the conditions that KubeRay sets of the object's present generation. It was provisioned once and for all when all of its
-- pods had been ready together; whether its head is ready is said of now.

local conditions = {}
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    conditions[condition.type] = condition
  end
end

local function is_true(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

local function says(name, otherwise)
  local condition = conditions[name]
  if condition == nil then
    return otherwise
  end
  if condition.message ~= nil and condition.message ~= "" then
    return condition.message
  end
  return condition.reason or otherwise
end

if obj.status ~= nil and obj.status.observedGeneration ~= nil and obj.metadata ~= nil and obj.metadata.generation ~= nil
  and obj.status.observedGeneration < obj.metadata.generation then
  return { status = "Progressing", message = "RayCluster is not reconciled yet" }
end
if is_true("ReplicaFailure") then
  return { status = "Degraded", message = says("ReplicaFailure", "pods cannot be created") }
end
if is_true("RayClusterSuspended") then
  return { status = "Suspended", message = "RayCluster is suspended" }
end
if is_true("RayClusterProvisioned") and is_true("HeadPodReady") then
  return { status = "Healthy", message = says("RayClusterProvisioned", "RayCluster is ready") }
end
if is_true("RayClusterProvisioned") then
  return { status = "Progressing", message = says("HeadPodReady", "RayCluster is not ready") }
end
return { status = "Progressing", message = says("RayClusterProvisioned", "RayCluster is not ready") }
