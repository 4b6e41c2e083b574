"""What a repository chooses not to be told: by comments, by names of rules, by a baseline of what was there before."""
