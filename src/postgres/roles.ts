import type { Queryable } from './pool.ts'

/** The processes that have a database role of their own. */
export const DATABASE_ROLES = ['api', 'watcher', 'delivery', 'signer'] as const
export type DatabaseRole = (typeof DATABASE_ROLES)[number]

/** The group that holds a process's grants; migrations name it. */
export const groupRoleOf = (role: DatabaseRole): string => `paylink_${role}`

/**
 * Makes the group roles that migrations grant to. Roles belong to the whole server, so another database may have made them.
 * None of them may make anything in the schema `public`, as PostgreSQL let everybody up to 14, and databases from then do
 * still: an operator or function of one role would be called by the statements of another, and of the owner.
 */
export async function ensureGroupRoles(db: Queryable): Promise<void> {
  for (const role of DATABASE_ROLES) {
    await db.query(`do $$ begin
      create role ${groupRoleOf(role)} nologin;
    exception when duplicate_object or unique_violation then null;
    end $$`)
  }
  await db.query('revoke create on schema public from public')
  const { rows } = await db.query<{ name: string }>(
    `select name from unnest($1::text[]) as name where has_schema_privilege(name, 'public', 'create')`,
    [DATABASE_ROLES.map(groupRoleOf)],
  )
  if (rows.length > 0) {
    const names = rows.map(({ name }) => name).join(', ')
    throw new Error(
      `${names} may create in the schema public: revoke it as the schema's owner ("revoke create on schema public from public, ${names}")`,
    )
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
  for (const role of DATABASE_ROLES) {
    await ensureLoginRole(db, {
      database,
      role,
      login: loginRoleOf(database, role),
      password: passwords[role],
    })
  }
}

/** Makes or updates one login, a member of the role's group. Nobody but the logins and the owner may connect. */
export async function ensureLoginRole(
  db: Queryable,
  wanted: { database: string; role: DatabaseRole; login: string; password: string },
): Promise<void> {
  const database = quoteIdentifier(wanted.database)
  const login = quoteIdentifier(wanted.login)
  await db.query(`revoke connect on database ${database} from public`)
  await db.query(`do $$ begin
    create role ${login} login;
  exception when duplicate_object or unique_violation then null;
  end $$`)
  await db.query(`alter role ${login} with login password ${quoteLiteral(wanted.password)}`)
  await db.query(`grant ${groupRoleOf(wanted.role)} to ${login}`)
  await db.query(`grant connect on database ${database} to ${login}`)
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
