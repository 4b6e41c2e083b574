"""Jobs of which a look at their values tells that they will run, so that nobody has to expand them and to judge what comes.

Nothing is refused here, and no rule is decided: a value that is not known to be harmless makes a job one that is expanded and judged as a
whole. What is known to be harmless is less than what is, and tests hold that of an ordinary job the whole judgement has nothing to say.
"""
