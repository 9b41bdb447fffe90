/** JSON outside the API, kept by no cache. `body`: an object, or JSON as text; `headers` go before those of its own. */
export const jsonResponse = (
  status: number,
  body: object | string,
  headers: { readonly [name: string]: string } = {},
): Response =>
  new Response(typeof body === 'string' ? body : `${JSON.stringify(body)}\n`, {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  })
