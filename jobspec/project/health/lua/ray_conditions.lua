-- A RayCluster or a RayService, by the conditions that KubeRay sets of the object's present generation. A cluster was provisioned once and
-- for all when all of its pods had been ready together; whether its head is ready is said of now. A service is ready as soon as one pod serves.

-- The reasons of a service that is not ready for which waiting is of no use: it is invalid, did not start in time, or serves no more.
local failures = {
  ValidationFailed = true,
  InitializingTimeout = true,
  ZeroServeEndpoints = true,
}

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

local function health(status, name, otherwise)
  return { status = status, message = says(name, obj.kind .. " " .. otherwise) }
end

if obj.status ~= nil and obj.status.observedGeneration ~= nil and obj.metadata ~= nil and obj.metadata.generation ~= nil
  and obj.status.observedGeneration < obj.metadata.generation then
  return { status = "Progressing", message = obj.kind .. " is not reconciled yet" }
end
if is_true("ReplicaFailure") then
  return health("Degraded", "ReplicaFailure", "cannot create its pods")
end
if is_true("RayClusterSuspended") then
  return { status = "Suspended", message = "RayCluster is suspended" }
end
if is_true("Suspended") then
  return health("Suspended", "Suspended", "is suspended")
end
local ready = conditions["Ready"]
if ready ~= nil and ready.status ~= "True" and failures[ready.reason] then
  return health("Degraded", "Ready", "is not ready")
end
if is_true("UpgradeInProgress") then
  return health("Progressing", "UpgradeInProgress", "is being upgraded")
end
if is_true("RollbackInProgress") then
  return health("Progressing", "RollbackInProgress", "is being rolled back")
end
if is_true("Ready") then
  return health("Healthy", "Ready", "is ready")
end
if is_true("RayClusterProvisioned") and is_true("HeadPodReady") then
  return health("Healthy", "RayClusterProvisioned", "is ready")
end
if is_true("RayClusterProvisioned") then
  return health("Progressing", "HeadPodReady", "is not ready")
end
if obj.kind == "RayCluster" then
  return health("Progressing", "RayClusterProvisioned", "is not ready")
end
return health("Progressing", "Ready", "is not ready")
