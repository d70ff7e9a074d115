import { ValidationError } from '../../base/agent-lightning-error.ts';

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/;
/** Number of characters of an invalid id that the error shows. */
const shownCharacters = 40;

/**
 * Checks an id from a caller: of a rollout, attempt, snapshot of resources, worker, run, span or trace. Ids become parts
 * of addresses, file names and log lines. Null and undefined pass: no id was given.
 *
 * @param field - the name of the field, for the error
 * @throws ValidationError for an id that has other characters, no characters, or more than 128
 */
export function assertId(field: string, id: string | null | undefined): void {
  if (id === null || id === undefined || idPattern.test(id)) return;
  const shown = JSON.stringify(id.length > shownCharacters ? `${id.slice(0, shownCharacters)}…` : id);
  const message = `${shown} is not an id. Use 1 to 128 letters, digits and . _ : @ -, beginning with a letter or digit`;
  throw new ValidationError('Id', [{ path: field, message }]);
}
