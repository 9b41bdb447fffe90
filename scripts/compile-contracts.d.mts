/**
 * Bytecode (hexadecimal) and interface of a contract in contracts/, the code that it leaves on a chain, and where in that its
 * immutables stand, in the order of their declarations. Throws with the compiler's words.
 */
export function compileContract(
  name: string,
): Promise<{ abi: unknown; bytecode: string; deployed: string; immutables: number[][] }>
