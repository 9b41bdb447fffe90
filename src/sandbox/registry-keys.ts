/**
 * Public keys of the npm registry (SPKI, base64) by key id, as in https://registry.npmjs.org/-/npm/v1/keys and in the
 * trust root that npm itself ships. They are here so that a mirror cannot vouch for what it serves.
 */
export const REGISTRY_KEYS: { readonly [keyId: string]: string } = {
  'SHA256:DhQ8wR5APBvFHLF/+Tc+AYvPOdTpcIDqOhxsBHRwC7U':
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEY6Ya7W++7aUPzvMTrezH6Ycx3c+HOKYCcNGybJZSCJq/fd7Qa8uuAKtdIkUQtQiEKERhAmE5lMMJhP8OkDOa2g==',
}

/** Digests of packages as the registry serves them. What is not here has to be signed by the registry. */
export const KNOWN_DIGESTS: { readonly [spec: string]: string } = {
  '@foundry-rs/anvil-linux-amd64@1.7.1':
    'sha512-+XmShybEaxfCrr0OUUZwYEy2OnYZt5pHH9TzBtLv3+VrK0O/ANuNSVEahqNhKHlgX7GRJ59383ofNhxkRWIYTg==',
  '@foundry-rs/anvil-linux-arm64@1.7.1':
    'sha512-ykHJmFOGdBR8+9smOKBm9ZZDCCCkLQctiHOAddLvmYx9mPeBDMfq6jP51hKYsO5MG8ClPLSlWe+JpiXPjoXgBQ==',
  '@foundry-rs/anvil-darwin-amd64@1.7.1':
    'sha512-OgwzwY+FsGrsPyDv4mmbhOwARO8s37YHrm2qaNzgSH4VlKnXgJCrnoT7bpgOhLyBPtxXjBT8L2E3b79deesXRg==',
  '@foundry-rs/anvil-darwin-arm64@1.7.1':
    'sha512-JNeu3+A3f/npXLn8SR8EahVcqE7BpO9VQZMcPvSIy27/RNc1GsoEBvSLR99aSvt8sGKWAgNg/EzrtjAPq6mxcA==',
  'litesvm-linux-x64-gnu@1.5.0':
    'sha512-yYdptWY5DRxTnLZAC+wsQ7NW8VIYUermdIyNzg8TFd93Btw/21V+sNW7VY/O0GxzmVkf1JzVtET/d5KU4zr6yA==',
}
