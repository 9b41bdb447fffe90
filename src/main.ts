#!/usr/bin/env node
import { runCommandLine } from './cli/command-line.ts'

// Whoever reads the output may stop reading, as `head` does: that is no fault of the command's.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCommandLine(process.argv)
