import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { ConfigError, type Environment } from './config-values.ts'

/** The variables of an env file. Throws `ConfigError` where it cannot be read. */
export function readEnvFile(path: string): Environment {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ConfigError(`${path} cannot be read: ${String(error)}`, { cause: error })
  }
}

/** A line of an env file, as node and systemd read it; null where no quotes can hold the value. */
export function envLine(name: string, value: string): string | null {
  if (/^[A-Za-z0-9_.,:/@+=%~?&-]*$/.test(value)) return `${name}=${value}`
  const quote = ["'", '"'].find((each) => !value.includes(each))
  if (quote === undefined || /[\r\n\\]/.test(value)) return null
  return `${name}=${quote}${value}${quote}`
}
