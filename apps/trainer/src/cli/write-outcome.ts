/** Writes the result of a command as one JSON object or as text. */
export function writeOutcome(
  flags: { readonly json?: boolean },
  outcome: { readonly record: object; readonly text: string },
): void {
  process.stdout.write(`${flags.json === true ? JSON.stringify(outcome.record) : outcome.text}\n`);
}
