#!/usr/bin/env python3
"""Writes bpe.json: merges and numbers by Hugging Face's tokenizers, for tests/data/bpe_training_test.cpp.

Needs tokenizers 0.20 or newer, and the settings that SubwordTokenizer::save() writes, which say how words are cut:
bpe_frame.json is one of its files. Run it from anywhere.
"""
import json
import pathlib

from tokenizers import Tokenizer, trainers

HERE = pathlib.Path(__file__).parent

TEXT = """The lion and the lioness rested. The lion's cub didn't rest: it's seen 1,234 gnus, 56 zebras and 56 antelopes!
  "They'll run," said the lion;  "they've run since 1950, we'd say -- since before 1950."\n\n\tLöwe, Löwin, Löwenjunges;
lev, lvice, lvíče: aaaaaaaaaaaaaaa aaaaaaa ababababab -- ---- ライオン ライオン 🦁🦁 \u00a0x\r\n
ha haha hahaha hahahaha: the the the there then thence, restless, rests, resting.   """
OTHERS = ["", " ", "the lion", "We're  not\n in the text?! 12345 übrig\u3000x", "aaaaaaaaaaaa'saaa", "\tx  y \n\n z "]


def main():
    tokenizer = Tokenizer.from_file(str(HERE / "bpe_frame.json"))
    # The bytes' order is that of the alphabet's letters.
    trainer = trainers.BpeTrainer(vocab_size=420, min_frequency=2, show_progress=False,
                                  initial_alphabet=[chr(c) for c in letters()])
    tokenizer.train_from_iterator([TEXT], trainer)
    saved = json.loads(tokenizer.to_str())["model"]
    golden = {"text": TEXT, "vocabulary_size": 420, "merges": saved["merges"], "vocab": saved["vocab"],
              "encoded": [{"text": t, "numbers": tokenizer.encode(t).ids} for t in [TEXT] + OTHERS]}
    (HERE / "bpe.json").write_text(json.dumps(golden, indent=1) + "\n")


def letters():
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return visible + [0x100 + i for i in range(256 - len(visible))]


if __name__ == "__main__":
    main()
