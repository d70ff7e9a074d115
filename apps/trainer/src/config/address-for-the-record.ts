/** User and password before the host, also where the password has characters that should have been encoded. */
const user = /\/\/(?:[^/:\s]*:\S*|[^/\s]*)@/;

/** An address as the store keeps it and others may read it: without user and password. A file stays as it is. */
export function addressForTheRecord(address: string): string {
  if (!/^\w+:\/\//.test(address)) return address;
  return address.replace(user, '//').replaceAll(/([?&]password=)[^&]*/g, '$1');
}
