import type { Queryable } from './pool.ts'

/** The processes that have a database role of their own. */
export const DATABASE_ROLES = ['api', 'watcher', 'delivery', 'signer'] as const
export type DatabaseRole = (typeof DATABASE_ROLES)[number]

/** The group that holds a process's grants; migrations name it. */
export const groupRoleOf = (role: DatabaseRole): string => `paylink_${role}`

/** Makes the group roles that migrations grant to. Roles belong to the whole server, so another database may have made them. */
export async function ensureGroupRoles(db: Queryable): Promise<void> {
  for (const role of DATABASE_ROLES) {
    await db.query(`do $$ begin
      create role ${groupRoleOf(role)} nologin;
    exception when duplicate_object or unique_violation then null;
    end $$`)
  }
}

/**
 * Makes or updates the login roles of this database, `<database>_api_login` and so on, each a member of its group and
 * the only ones besides the owner that may connect.
 */
export async function ensureLoginRoles(
  db: Queryable,
  database: string,
  passwords: { readonly [role in DatabaseRole]: string },
): Promise<void> {
  const quotedDatabase = quoteIdentifier(database)
  await db.query(`revoke connect on database ${quotedDatabase} from public`)
  for (const role of DATABASE_ROLES) {
    const login = quoteIdentifier(loginRoleOf(database, role))
    await db.query(`do $$ begin
      create role ${login} login;
    exception when duplicate_object or unique_violation then null;
    end $$`)
    await db.query(`alter role ${login} with login password ${quoteLiteral(passwords[role])}`)
    await db.query(`grant ${groupRoleOf(role)} to ${login}`)
    await db.query(`grant connect on database ${quotedDatabase} to ${login}`)
  }
}

/** Never the name of a group role, whatever the database is called. */
export const loginRoleOf = (database: string, role: DatabaseRole): string => `${database}_${role}_login`

/** The owner's connection string, with another user in it. */
export function connectionStringFor(ownerUrl: string, user: string, password: string): string {
  const url = new URL(ownerUrl)
  url.username = encodeURIComponent(user)
  url.password = encodeURIComponent(password)
  return url.toString()
}

const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`
const quoteLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`
