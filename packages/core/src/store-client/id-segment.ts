import { assertId } from '../protocol/assert-id.ts';

/**
 * The path segment of an id. Encoding alone is not enough: `..` would address another route.
 *
 * @throws ValidationError when it is not an id
 */
export function idSegment(field: string, id: string): string {
  assertId(field, id);
  return encodeURIComponent(id);
}
