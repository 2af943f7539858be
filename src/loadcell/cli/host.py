"""`loadcell host`: what this machine is, as far as it bears on performance."""

from __future__ import annotations

import click


@click.command("host")
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
@click.option("--anonymous", is_flag=True, help="Leave names and addresses out, for sharing.")
@click.option(
    "--serve",
    is_flag=False,
    flag_value="127.0.0.1",
    metavar="[ADDRESS[:PORT]]",
    help="Answer network probes of other machines at this address (default: 127.0.0.1:7733) until Ctrl-C.",
)
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", help="The page's language.")
def host(as_json: bool, anonymous: bool, serve: str | None, lang: str) -> None:
    """Show this machine: processors, memory, disks, network, kernel, and which settings hurt measurements.

    Needs no privilege; what only root may read is named as not available, with the reason. Every question has a time limit,
    so that a hung mount or a broken firmware table holds nothing up. Each run keeps the same facts in environment.json.
    """
    if serve is not None:
        _serve(serve, as_json=as_json)
        return
    from loadcell.host.inventory import collect
    from loadcell.host.remarks import findings

    found = collect(anonymous=anonymous)
    said = findings(found)
    if as_json:
        import json

        from loadcell.report.texts import Texts

        texts = Texts(lang)
        told = [{**one.document(), "text": texts.say(one.phrase)} for one in said]
        click.echo(json.dumps({"schema": 1, "host": found, "findings": told}, indent=2, ensure_ascii=False))
        return
    from loadcell.report.host import print_host

    print_host(found, said, lang)


def _serve(address: str, *, as_json: bool) -> None:
    import json

    from loadcell.host import serve

    def say(event: dict[str, object]) -> None:
        if as_json:
            click.echo(json.dumps(event))
        elif event["type"] == "listening":
            click.echo(serve.welcome(str(event["address"])))
        else:
            click.echo(serve.farewell(event))

    try:
        serve.serve(address, say)
    except serve.ServeError as error:
        raise click.ClickException(str(error)) from error
