"""The health of jobs for GitOps engines, which know none of their kinds, or know them wrongly."""
