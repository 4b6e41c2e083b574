-- A RayService, by the conditions that KubeRay sets of the object's present generation. It is ready as soon as one pod serves.

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

if obj.status ~= nil and obj.status.observedGeneration ~= nil and obj.metadata ~= nil and obj.metadata.generation ~= nil
  and obj.status.observedGeneration < obj.metadata.generation then
  return { status = "Progressing", message = "RayService is not reconciled yet" }
end
if is_true("Suspended") then
  return { status = "Suspended", message = says("Suspended", "RayService is suspended") }
end
local ready = conditions["Ready"]
if ready ~= nil and ready.status ~= "True" and failures[ready.reason] then
  return { status = "Degraded", message = says("Ready", "RayService is not ready") }
end
if is_true("UpgradeInProgress") then
  return { status = "Progressing", message = says("UpgradeInProgress", "RayService is being upgraded") }
end
if is_true("RollbackInProgress") then
  return { status = "Progressing", message = says("RollbackInProgress", "RayService is being rolled back") }
end
if is_true("Ready") then
  return { status = "Healthy", message = says("Ready", "RayService is ready") }
end
return { status = "Progressing", message = says("Ready", "RayService is not ready") }
