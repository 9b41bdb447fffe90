import { inItsCell, Problem, requestPeople } from './request.ts'
import type { ApprovePayout } from './types.ts'

/** Passkeys by WebAuthn Level 3 §5.1.8 and §5.1.9: JSON with base64url, turned into what the browser takes and back. */

type Descriptor = {
  readonly id: string
  readonly type: 'public-key'
  readonly transports?: AuthenticatorTransport[]
}
type RegisterOptions = Omit<
  PublicKeyCredentialCreationOptions,
  'challenge' | 'user' | 'excludeCredentials'
> & {
  readonly challenge: string
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string }
  readonly excludeCredentials?: readonly Descriptor[]
}
type SignInOptions = Omit<PublicKeyCredentialRequestOptions, 'challenge' | 'allowCredentials'> & {
  readonly challenge: string
  readonly allowCredentials?: readonly Descriptor[]
}

/** A passkey belongs to a name, never to a bare address of the network. */
export const canUsePasskeys = (): boolean =>
  'PublicKeyCredential' in window && !/^[\d.]+$|^\[/.test(window.location.hostname)

/** Makes a passkey on this device and gives it to the account. */
export async function addPasskey(name: string): Promise<void> {
  const options = await requestPeople<RegisterOptions>('GET', '/passkey/generate-register-options', {
    query: { name },
  })
  const created = await byDevice(() =>
    navigator.credentials.create({
      publicKey: {
        ...options,
        challenge: toBytes(options.challenge),
        user: { ...options.user, id: toBytes(options.user.id) },
        excludeCredentials: (options.excludeCredentials ?? []).map(descriptorOf),
      },
    }),
  )
  const { response } = created
  if (!(response instanceof AuthenticatorAttestationResponse)) throw cancelled()
  await requestPeople('POST', '/passkey/verify-registration', {
    body: {
      name,
      response: {
        ...credentialOf(created),
        response: {
          clientDataJSON: toText(response.clientDataJSON),
          attestationObject: toText(response.attestationObject),
          transports: response.getTransports(),
        },
      },
    },
  })
}

/**
 * Signs in with a passkey, or, where somebody is signed in, proves it as the second factor. One of another cell is asked for
 * again there.
 */
export const provePasskey = (): Promise<void> => inItsCell(provePasskeyHere)

async function provePasskeyHere(): Promise<void> {
  const options = await requestPeople<SignInOptions>('GET', '/passkey/generate-authenticate-options')
  const { found, response } = await askDevice(options)
  await requestPeople('POST', '/passkey/verify-authentication', {
    body: {
      response: {
        ...credentialOf(found),
        response: {
          clientDataJSON: toText(response.clientDataJSON),
          authenticatorData: toText(response.authenticatorData),
          signature: toText(response.signature),
          ...(response.userHandle === null ? {} : { userHandle: toText(response.userHandle) }),
        },
      },
    },
  })
}

/** What one of these passkeys signs to approve a payout, whose challenge this is. */
export async function signWithPasskey(
  challenge: string,
  ids: readonly string[],
): Promise<NonNullable<ApprovePayout['passkey']>> {
  const allowCredentials = ids.map((id) => ({ id, type: 'public-key' as const }))
  const { found, response } = await askDevice({ challenge, allowCredentials, userVerification: 'required' })
  return {
    credential_id: found.id,
    authenticator_data: toText(response.authenticatorData),
    client_data_json: toText(response.clientDataJSON),
    signature: toText(response.signature),
  }
}

async function askDevice(options: SignInOptions) {
  const found = await byDevice(() =>
    navigator.credentials.get({
      publicKey: {
        ...options,
        challenge: toBytes(options.challenge),
        allowCredentials: (options.allowCredentials ?? []).map(descriptorOf),
      },
    }),
  )
  const { response } = found
  if (!(response instanceof AuthenticatorAssertionResponse)) throw cancelled()
  return { found, response }
}

async function byDevice(request: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    const credential = await request()
    if (credential instanceof PublicKeyCredential) return credential
  } catch (cause) {
    throw cancelled(cause)
  }
  throw cancelled()
}

const cancelled = (cause?: unknown): Problem =>
  new Problem(
    {
      code: 'passkey_cancelled',
      status: 0,
      message: 'The passkey was not used. Try again.',
    },
    { cause },
  )

const credentialOf = (credential: PublicKeyCredential) => ({
  id: credential.id,
  rawId: toText(credential.rawId),
  type: credential.type,
  authenticatorAttachment: credential.authenticatorAttachment,
  clientExtensionResults: credential.getClientExtensionResults(),
})

const descriptorOf = ({ id, type, transports }: Descriptor): PublicKeyCredentialDescriptor => ({
  id: toBytes(id),
  type,
  ...(transports === undefined ? {} : { transports }),
})

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

function toText(bytes: ArrayBuffer): string {
  const binary = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join('')
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
