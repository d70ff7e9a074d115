/** A word as a shell takes it whole: quoted where it would take it apart. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./…-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
