"""Table of what the laboratory adds to the core."""

from search.plugins import Plugin

_CLI, _READERS = "search.lab.cli", "search.lab.evaluating.readers"

PLUGIN = Plugin(
    panel="Laboratory",
    groups={
        "lab": "Look inside BERT, use task heads, and train models.",
        "lab label": "Label passages or texts with a model or a trained head.",
    },
    commands={
        "lab inspect": (
            f"{_CLI}.inspect:inspect",
            "Show tokens, vectors and attention for a text or a pair.",
        ),
        "lab vocabulary": (
            f"{_CLI}.inspect:vocabulary",
            "Look up tokens and IDs in the vocabulary of a model.",
        ),
        "lab compare": (
            f"{_CLI}.compare:compare",
            "Compare two encoders by the passages that they find in an index, or on a pair of texts.",
        ),
        "lab probe": (
            f"{_CLI}.probe:probe",
            "Measure what a linear classifier reads from each layer of a model.",
        ),
        "lab fill": (f"{_CLI}.predict:fill", "Predict the word at each [MASK]."),
        "lab next": (f"{_CLI}.predict:follows", "Predict whether one text follows another."),
        "lab ask": (f"{_CLI}.predict:ask", "Answer QUESTION with a quotation from the best passages."),
        "lab tag": (f"{_CLI}.label:tag", "Tag entities or parts of speech in all passages."),
        "lab label train": (f"{_CLI}.label:label_train", "Train a head on labelled examples."),
        "lab label apply": (
            f"{_CLI}.label:label_apply",
            "Label texts, or all passages that have no label yet.",
        ),
        "lab label explain": (
            f"{_CLI}.label:label_explain",
            "Show how much each word of a text adds to each label's score.",
        ),
        "lab label remove": (
            f"{_CLI}.label:label_remove",
            "Remove labels, entities or parts of speech from an index.",
        ),
        "lab train": (
            f"{_CLI}.train:train",
            "Train an encoder or a head on examples, and measure the gain.",
        ),
    },
    tasks={
        "answers": f"{_READERS}:evaluate_answers",
        "entities": f"{_READERS}:evaluate_entities",
    },
    router="search.lab.serving",
    pages={"/vocabulary": "Vocabulary"},
    assets="search.lab.render",
    json_keys={
        "Answer": ("score", "margin"),
        "Answers": ("answers", "nearest"),
        "MaskPredictions": ("loss",),
        "Guess": ("loss",),
        "CosineShares": ("residuals",),
        "EncoderShare": ("difference",),
        "LayerScore": ("selectivity",),
        "HeldOut": ("interval",),
        "LabelExplanation": ("residual", "by_word"),
        "ModelParameters": ("numbers", "in_matrices", "shapes"),
        "TaggedWord": ("tokens",),
        "TrainingReport": ("improved",),
    },
    json_left_out={"Answer": ("passage", "window", "first", "last"), "ModelParameters": ("tensors",)},
)
