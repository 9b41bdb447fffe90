#!/usr/bin/env node
import { runCommandLine } from './cli/command-line.ts'

// The reader of our output may close it early, as `head` does: that is not an error of the command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCommandLine(process.argv)
