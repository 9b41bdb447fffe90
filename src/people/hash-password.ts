import { hash } from '@node-rs/argon2'

/** OWASP's first choice for argon2id: 19 MiB, two passes, one queue. */
const ARGON2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** A password as it is stored: argon2id in PHC's form, with a salt of its own. */
export const hashPassword = (password: string): Promise<string> => hash(password, ARGON2)
