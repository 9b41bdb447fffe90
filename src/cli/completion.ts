import type { Command } from 'commander'
import type { Output } from './command-context.ts'
import { UsageError } from './usage-error.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

type Entry = {
  /** The words that lead to it, such as `merchant create`; empty for the program itself. */
  readonly path: string
  readonly commands: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly { readonly long: string; readonly description: string }[]
}

/** Adds `paylink completion <shell>`. */
export function addCompletion(program: Command, output: Output): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in your shell')
    .argument('<shell>', 'bash, zsh or fish')
    .action((shell: string) => output.line(completionScript(shell, program)))
}

/** A script for a shell that completes the commands and options of this program. Throws for a shell that we do not know. */
function completionScript(shell: string, program: Command): string {
  const entries = [...entriesOf(program, '')]
  if (shell === 'bash') return bash(entries)
  if (shell === 'zsh')
    return `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${bash(entries)}`
  if (shell === 'fish') return fish(entries)
  throw new UsageError(`${shell} is no shell that can be completed: use ${SHELLS.join(', ')}`)
}

function* entriesOf(command: Command, path: string): Generator<Entry> {
  const { commands, options } = command
  yield {
    path,
    commands: commands.map((one) => ({ name: one.name(), description: one.description() })),
    options: options.flatMap(({ long, description }) =>
      typeof long === 'string' ? [{ long, description }] : [],
    ),
  }
  for (const one of commands) yield* entriesOf(one, path === '' ? one.name() : `${path} ${one.name()}`)
}

/** Words that are no command of ours, such as an option's value, leave the place where we are. */
function bash(entries: readonly Entry[]): string {
  const cases = entries.map(({ path, commands, options }) => {
    const words = [...commands.map(({ name }) => name), ...options.map(({ long }) => long)]
    return `    '${path}') words='${words.join(' ')}' ;;`
  })
  return `_paylink_words() {
  case "$1" in
${cases.join('\n')}
    *) return 1 ;;
  esac
}
_paylink() {
  local at='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if _paylink_words "\${at:+$at }$word"; then at="\${at:+$at }$word"; fi
  done
  _paylink_words "$at"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _paylink paylink
`
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function fish(entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ path, commands, options }) => {
    const names = commands.map(({ name }) => name).join(' ')
    const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
    const there = path === '' ? [] : seen
    const isHere = [...there, ...(names === '' ? [] : [`not __fish_seen_subcommand_from ${names}`])].join(
      '; and ',
    )
    const when = isHere === '' ? '' : ` -n ${quoted(isHere)}`
    return [
      ...commands.map(
        ({ name, description }) => `complete -c paylink -f${when} -a ${name} -d ${quoted(description)}`,
      ),
      ...options.map(
        ({ long, description }) => `complete -c paylink${when} -l ${long.slice(2)} -d ${quoted(description)}`,
      ),
    ]
  })
  return `${lines.join('\n')}\n`
}
