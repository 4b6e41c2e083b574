-- An XGBoostJob, by the conditions that training-operator sets. Those whose status is "False" are of the past.

-- The health that a condition means; the first that is true decides.
local meanings = {
  { "Failed", "Degraded" },
  { "Succeeded", "Healthy" },
  { "Suspended", "Suspended" },
  { "Restarting", "Progressing" },
  { "Running", "Progressing" },
  { "Created", "Progressing" },
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
return { status = "Progressing", message = "XGBoostJob has not finished" }
