/**
 * Closes what an audit asks as soon as the audit is stopped, which ends every call that waits for its answer. Returns how to
 * close it when the work is done.
 */
export function closeAtStop(closable: { close(): Promise<void> }, stop: AbortSignal): () => Promise<void> {
  let closed: Promise<void> | null = null
  const close = (): Promise<void> => {
    stop.removeEventListener('abort', close)
    closed ??= closable.close()
    return closed
  }
  stop.addEventListener('abort', close)
  if (stop.aborted) void close()
  return close
}
