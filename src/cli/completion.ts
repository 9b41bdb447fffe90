import { Argument, type Command } from 'commander'
import type { Output } from './command-context.ts'
import { UsageError } from './usage-error.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

type Word = { readonly name: string; readonly description: string }
type Entry = {
  /** The words that lead to it, such as `merchant create`; empty for the program itself. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly (Word & { readonly takesValue: boolean })[]
  /** What its argument may be, where that is known. */
  readonly values: readonly string[]
  readonly takesFile: boolean
}

/**
 * An argument whose words are known: the help names them, and shells offer them. The command itself refuses others, in
 * its own words.
 */
export function argumentOf(name: string, description: string, words: readonly string[]): Argument {
  const argument = new Argument(name, description)
  argument.argChoices = [...words]
  return argument
}

/** Adds `paylink completion <shell>`. */
export function addCompletion(program: Command, output: Output): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in your shell')
    .addArgument(argumentOf('<shell>', 'yours', SHELLS))
    .action((shell: string) => output.line(completionScript(shell, program)))
}

/** A script for a shell that completes the commands and options of this program. Throws for a shell that we do not know. */
function completionScript(shell: string, program: Command): string {
  const entries = [...entriesOf(program, '')]
  if (shell === 'bash') return bash(entries)
  if (shell === 'zsh') return zsh(entries)
  if (shell === 'fish') return fish(entries)
  throw new UsageError(`${shell} is no shell that can be completed: use ${SHELLS.join(', ')}`)
}

function* entriesOf(command: Command, path: string): Generator<Entry> {
  const { commands, options, registeredArguments } = command
  const values = registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  yield {
    path,
    commands: commands.map((one) => ({ name: one.name(), description: one.description() })),
    options: options.flatMap(({ long, description, required, optional }) =>
      typeof long === 'string' ? [{ name: long, description, takesValue: required || optional }] : [],
    ),
    values,
    takesFile: registeredArguments.length > 0 && values.length === 0,
  }
  for (const one of commands) yield* entriesOf(one, path === '' ? one.name() : `${path} ${one.name()}`)
}

const namesOf = (words: readonly Word[]): string => words.map(({ name }) => name).join(' ')
const valuedOf = ({ options }: Entry) => namesOf(options.filter(({ takesValue }) => takesValue))

/** Words that are no command of ours, such as an option's value, leave the place where we are. */
function bash(entries: readonly Entry[]): string {
  const cases = entries.map((entry) => {
    const words = [namesOf(entry.commands), ...entry.values].join(' ').trim()
    const offered = words === '' && !entry.takesFile ? namesOf(entry.options) : words
    return `    '${entry.path}') words='${offered}' options='${namesOf(entry.options)}' valued='${valuedOf(entry)}' ;;`
  })
  return `_paylink_words() {
  case "$1" in
${cases.join('\n')}
    *) return 1 ;;
  esac
}
_paylink() {
  local at='' word words='' options='' valued=''
  local typed="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if _paylink_words "\${at:+$at }$word"; then at="\${at:+$at }$word"; fi
  done
  _paylink_words "$at"
  COMPREPLY=()
  case " $valued " in *" \${COMP_WORDS[COMP_CWORD-1]} "*) return ;; esac
  case "$typed" in -*) words="$options" ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$typed"))
}
complete -o bashdefault -o default -F _paylink paylink
`
}

const zshQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const described = ({ name, description }: Word): string => zshQuoted(`${name}:${description}`)

/** zsh's own way, which refuses bash's `${words[@]:1:COMP_CWORD-1}`; it may be sourced, or be a file of `fpath`. */
function zsh(entries: readonly Entry[]): string {
  const cases = entries.map((entry) => {
    const words = [...entry.commands.map(described), ...entry.values]
    const offered = words.length === 0 && !entry.takesFile ? entry.options.map(described) : words
    return `    '${entry.path}') here=(${offered.join(' ')}) options=(${entry.options.map(described).join(' ')}) valued=(${valuedOf(entry)}) ;;`
  })
  return `#compdef paylink
_paylink_words() {
  case "$1" in
${cases.join('\n')}
    *) return 1 ;;
  esac
}
_paylink() {
  local at='' word
  local -a here options valued
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if _paylink_words "\${at:+$at }$word"; then at="\${at:+$at }$word"; fi
  done
  _paylink_words "$at"
  if (( \${valued[(Ie)\${words[CURRENT-1]}]} )); then _files
  elif [[ \${words[CURRENT]} == -* ]]; then _describe option options
  elif (( \${#here} )); then _describe word here
  else _files
  fi
}
if [[ \${funcstack[1]} == _paylink ]]; then _paylink "$@"
else
  (( \${+functions[compdef]} )) || { autoload -U compinit && compinit }
  compdef _paylink paylink
fi
`
}

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function fish(entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ path, commands, options, values, takesFile }) => {
    const names = namesOf(commands)
    const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
    const there = path === '' ? [] : seen
    const isHere = [...there, ...(names === '' ? [] : [`not __fish_seen_subcommand_from ${names}`])].join(
      '; and ',
    )
    const when = isHere === '' ? '' : ` -n ${fishQuoted(isHere)}`
    return [
      ...(takesFile ? [] : [`complete -c paylink -f${when}`]),
      ...commands.map(
        ({ name, description }) => `complete -c paylink${when} -a ${name} -d ${fishQuoted(description)}`,
      ),
      ...(values.length === 0 ? [] : [`complete -c paylink${when} -a ${fishQuoted(values.join(' '))}`]),
      ...options.map(
        ({ name, description, takesValue }) =>
          `complete -c paylink${when} -l ${name.slice(2)}${takesValue ? ' -r -F' : ''} -d ${fishQuoted(description)}`,
      ),
    ]
  })
  return `${lines.join('\n')}\n`
}
