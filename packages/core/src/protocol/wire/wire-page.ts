import * as z from 'zod';
import { ValidationError } from '../../base/agent-lightning-error.ts';
import type { Page, PageOptions } from '../../store/queries.ts';
import type { WireFields } from './wire-fields.ts';

/** Codec of one page of a list. */
export function pageCodec<TItem>(item: z.ZodType<TItem>): z.ZodType<Page<TItem>> {
  return z.object({ items: z.array(item), limit: z.int(), offset: z.int(), total: z.int() });
}

const sortOrder = z.enum(['asc', 'desc'], 'Invalid sort_order, allowed values are: asc, desc').nullish();

/** Fields of {@link PageOptions}, with the sortable fields by their wire name. */
export function pageFields<TSortField extends string>(
  sortFields: Readonly<Record<string, TSortField>>,
): WireFields<PageOptions<TSortField>> {
  return {
    sortBy: ['sort_by', sortFieldCodec(sortFields).nullish()],
    sortOrder: ['sort_order', sortOrder],
    limit: ['limit', z.int().nullish()],
    offset: ['offset', z.int().nullish()],
  };
}

/** An unknown sort field is sent unchanged, and rejected by the server. */
function sortFieldCodec<TSortField extends string>(
  sortFields: Readonly<Record<string, TSortField>>,
): z.ZodType<TSortField> {
  return z.codec(z.string(), z.custom<TSortField>(), {
    decode: (name) => {
      const field = Object.hasOwn(sortFields, name) ? sortFields[name] : undefined;
      if (field !== undefined) return field;
      const message = `Invalid sort_by: ${name}, allowed fields are: ${Object.keys(sortFields).join(', ')}`;
      // Not an issue of the schema: the protocol has another status for it.
      throw new ValidationError('Query', [{ path: 'sort_by', message }]);
    },
    encode: (field) => Object.entries(sortFields).find(([, known]) => known === field)?.[0] ?? field,
  });
}
