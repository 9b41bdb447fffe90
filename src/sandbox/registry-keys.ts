/**
 * Public keys of the npm registry (SPKI, base64) by key id, as in https://registry.npmjs.org/-/npm/v1/keys and in the
 * trust root that npm itself ships. They are here so that a mirror cannot vouch for what it serves.
 */
export const REGISTRY_KEYS: { readonly [keyId: string]: string } = {
  'SHA256:DhQ8wR5APBvFHLF/+Tc+AYvPOdTpcIDqOhxsBHRwC7U':
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEY6Ya7W++7aUPzvMTrezH6Ycx3c+HOKYCcNGybJZSCJq/fd7Qa8uuAKtdIkUQtQiEKERhAmE5lMMJhP8OkDOa2g==',
}

/** Digests of the packages that package-lock.json holds, for installations without that file. */
export const KNOWN_DIGESTS: { readonly [spec: string]: string } = {
  '@foundry-rs/anvil-linux-amd64@1.7.1':
    'sha512-+XmShybEaxfCrr0OUUZwYEy2OnYZt5pHH9TzBtLv3+VrK0O/ANuNSVEahqNhKHlgX7GRJ59383ofNhxkRWIYTg==',
  'litesvm-linux-x64-gnu@1.5.0':
    'sha512-yYdptWY5DRxTnLZAC+wsQ7NW8VIYUermdIyNzg8TFd93Btw/21V+sNW7VY/O0GxzmVkf1JzVtET/d5KU4zr6yA==',
}
