"""`chartproof model`: a model server without a model."""

from typing import TYPE_CHECKING, Annotated

import typer

from chartproof.cli import screen
from chartproof.cli.serve import HOST, until_stopped

if TYPE_CHECKING:
    from chartproof.runs.scripted_model.server import Heard

PORT = 8766

app = typer.Typer(no_args_is_help=True, help="Stand in for a model, to try clients and studies.")


@app.command("serve")
def serve(
    persona: Annotated[
        str, typer.Option(help="The scripted system that answers, e.g. careful or board-oracle.")
    ] = "careful",
    host: Annotated[str, typer.Option(help="Listen at this address.")] = HOST,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="At this port; 0 takes a free one.")
    ] = PORT,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="What shall go wrong, KIND[=VALUE][@TURN][:TIMES], e.g. 429=2@3:once; repeatable."
        ),
    ] = None,
    served: Annotated[
        str | None, typer.Option(help="Say that this model answered, not the one asked for.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of faults that are left to chance.")] = 0,
) -> None:
    """Serve a scripted system as if it were a model, until Ctrl-C.

    OpenAI chat completions and responses, Anthropic messages and Gemini are spoken at one address;
    any client works a case over it, without a key, a network or a model. It knows no chart: it
    calls the tools that a client offers.
    """
    from chartproof.runs.scripted_model.server import ModelServer
    from chartproof.tools.endpoint import Tcp

    where = Tcp(host, port)
    if not where.is_loopback:
        screen.err.print(
            f"{host} can be reached from other machines, and anybody may ask.", style="yellow"
        )
    with ModelServer(
        persona, where, faults=fault or (), served=served, seed=seed, heard=_told
    ) as server:
        screen.table(
            f"Serving {persona} at {server.url}",
            ["protocol", "base URL of a client"],
            [
                ["OpenAI chat and responses", f"{server.url}/v1"],
                ["Anthropic messages", server.url],
                ["Gemini", server.url],
            ],
        )
        screen.out.print("Ctrl-C ends.")
        until_stopped()


def _told(heard: "Heard") -> None:
    """One line for each request."""
    if heard.reply is None:
        said = f"status {heard.status}"
    elif heard.reply.calls:
        said = "calls " + ", ".join(call.tool.name for call in heard.reply.calls)
    else:
        said = f"answers with {len(heard.reply.text)} characters"
    struck = f" ({', '.join(heard.struck)})" if heard.struck else ""
    screen.err.print(
        f"{heard.protocol} {heard.manner.persona} turn {heard.asked.turn}: {said}{struck}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
