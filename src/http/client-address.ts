/** The caller's address, written by our own server over whatever the caller sent. */
export const CLIENT_ADDRESS_HEADER = 'x-paylink-client-address'
