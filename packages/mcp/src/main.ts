#!/usr/bin/env node
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { Paylink } from 'paylink-sdk'
import { createServer } from './server.ts'

/** `PAYLINK_URL` and `PAYLINK_API_KEY` say whose Paylink it is; requests come on standard input. */
const { PAYLINK_URL: baseUrl = '', PAYLINK_API_KEY: apiKey = '' } = process.env
try {
  const paylink = new Paylink({ baseUrl, apiKey })
  await createServer(paylink).connect(new StdioServerTransport())
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  process.stderr.write(`paylink-mcp: set PAYLINK_URL and PAYLINK_API_KEY: ${error.message}\n`)
  process.exitCode = 2
}
