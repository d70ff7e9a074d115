/** Writes what a command did: one JSON object for programs, or a text for people. */
export function writeOutcome(
  flags: { readonly json?: boolean },
  outcome: { readonly record: object; readonly text: string },
): void {
  process.stdout.write(`${flags.json === true ? JSON.stringify(outcome.record) : outcome.text}\n`);
}
