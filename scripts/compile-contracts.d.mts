/** Bytecode (hexadecimal) and interface of a contract in contracts/. Throws with the compiler's words. */
export function compileContract(name: string): Promise<{ abi: unknown; bytecode: string }>
