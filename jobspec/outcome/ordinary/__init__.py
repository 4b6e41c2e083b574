"""Jobs of which a look at their values tells that a server accepts all their objects, and that their programs find each other.

Nobody has to expand a job of which both are known, and nobody has to ask of one with accepted objects what a server says of them. Nothing
is refused here, and no rule is decided: of a value that is not known to be harmless the whole judgement decides. What is known to be
harmless is less than what is, and tests hold that the whole judgement has nothing to say of what is called ordinary here.
"""
