/** Words of others are kept this far: enough to act on, and no table or log grows by what a node likes to say. */
const LENGTH_MAX = 2_000

/** Text from outside as PostgreSQL can hold it: cut to a length, and without NUL. Its driver replaces lone surrogates itself. */
export const storableText = (text: string): string => text.slice(0, LENGTH_MAX).replaceAll('\0', '\ufffd')
