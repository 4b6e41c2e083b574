-- A RayJob, by the status of its deployment. Ray's own status of a job that was stopped is "STOPPED": it is complete, and has not succeeded.

-- The health that a status of the deployment means; any other one is of a job that has not finished.
local meanings = {
  Complete = "Healthy",
  Failed = "Degraded",
  ValidationFailed = "Degraded",
  Suspended = "Suspended",
}

if obj.status == nil or obj.status.jobDeploymentStatus == nil or obj.status.jobDeploymentStatus == "" then
  return { status = "Progressing", message = "RayJob has not finished" }
end

local deployment = obj.status.jobDeploymentStatus
local message = obj.status.message
if message == nil or message == "" then
  message = obj.status.reason
end
if message == nil or message == "" then
  message = "RayJob is " .. deployment
end

if deployment == "Complete" and obj.status.jobStatus == "STOPPED" then
  return { status = "Degraded", message = message }
end
return { status = meanings[deployment] or "Progressing", message = message }
