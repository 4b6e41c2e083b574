-- A job, or a LeaderWorkerSet, by the conditions that its operator sets. Those whose status is "False" are of the past: a resumed job is
-- not healthy yet. A LeaderWorkerSet never fails: groups that cannot start are waited for.

-- The health that a condition means; the first that is true decides. No two kinds mean different health by one condition.
local meanings = {
  { "Failed", "Degraded" },
  { "Succeeded", "Healthy" },
  { "Complete", "Healthy" },
  { "Completed", "Healthy" },
  { "UpdateInProgress", "Progressing" },
  { "Available", "Healthy" },
  { "Suspended", "Suspended" },
  { "Restarting", "Progressing" },
  { "Running", "Progressing" },
  { "Created", "Progressing" },
  { "StartupPolicyInProgress", "Progressing" },
  { "FailureTarget", "Progressing" },
  { "SuccessCriteriaMet", "Progressing" },
  { "Progressing", "Progressing" },
}

local messages = {}
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.status == "True" then
      messages[condition.type] = condition.message or condition.reason or condition.type
    end
  end
end

for _, meaning in ipairs(meanings) do
  local message = messages[meaning[1]]
  if message ~= nil then
    return { status = meaning[2], message = message }
  end
end
if obj.kind == "LeaderWorkerSet" then
  return { status = "Progressing", message = "LeaderWorkerSet is not available" }
end
return { status = "Progressing", message = obj.kind .. " has not finished" }
