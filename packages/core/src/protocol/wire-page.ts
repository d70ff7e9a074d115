import { z } from 'zod';
import { ValidationError } from '../errors/validation-error.ts';
import type { Page, PageOptions } from '../store/store.ts';

/** One page of a list in the store protocol. */
export interface WirePage<TItem> {
  readonly items: readonly TItem[];
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
}

/** Sorting and pagination in the store protocol. */
export interface WirePageOptions {
  readonly sort_by?: string | null | undefined;
  readonly sort_order?: 'asc' | 'desc' | null | undefined;
  readonly limit?: number | null | undefined;
  readonly offset?: number | null | undefined;
}

/** Schema of a page. */
export function wirePageSchema<TItem>(item: z.ZodType<TItem>): z.ZodType<WirePage<TItem>> {
  return z.object({ items: z.array(item), limit: z.int(), offset: z.int(), total: z.int() });
}

/** Fields of {@link WirePageOptions}, for the schemas of queries. */
export const wirePageOptionsShape: {
  readonly sort_by: z.ZodType<string | null | undefined>;
  readonly sort_order: z.ZodType<'asc' | 'desc' | null | undefined>;
  readonly limit: z.ZodType<number | null | undefined>;
  readonly offset: z.ZodType<number | null | undefined>;
} = {
  sort_by: z.string().nullish(),
  sort_order: z.enum(['asc', 'desc'], 'Invalid sort_order, allowed values are: asc, desc').nullish(),
  limit: z.int().nullish(),
  offset: z.int().nullish(),
};

/** Decodes a page. */
export function pageFromWire<TWire, TItem>(wire: WirePage<TWire>, toItem: (item: TWire) => TItem): Page<TItem> {
  return { items: wire.items.map(toItem), limit: wire.limit, offset: wire.offset, total: wire.total };
}

/** Encodes a page. */
export function pageToWire<TItem, TWire>(page: Page<TItem>, toWire: (item: TItem) => TWire): WirePage<TWire> {
  return { items: page.items.map(toWire), limit: page.limit, offset: page.offset, total: page.total };
}

/**
 * Decodes sorting and pagination.
 *
 * @throws ValidationError for an unknown sort field
 */
export function pageOptionsFromWire<TSortField extends string>(
  wire: WirePageOptions,
  sortFields: Readonly<Record<string, TSortField>>,
): PageOptions<TSortField> {
  return {
    ...sortFieldFromWire(wire.sort_by, sortFields),
    sortOrder: wire.sort_order ?? 'asc',
    limit: wire.limit ?? -1,
    offset: wire.offset ?? 0,
  };
}

/** Encodes sorting and pagination. An unknown sort field is sent unchanged and rejected by the server. */
export function pageOptionsToWire<TSortField extends string>(
  options: PageOptions<TSortField>,
  sortFields: Readonly<Record<string, TSortField>>,
): WirePageOptions {
  const { sortBy, sortOrder, limit, offset } = options;
  const name = Object.entries(sortFields).find(([, field]) => field === sortBy)?.[0] ?? sortBy;
  return { sort_by: name, sort_order: sortOrder, limit, offset };
}

function sortFieldFromWire<TSortField extends string>(
  name: string | null | undefined,
  sortFields: Readonly<Record<string, TSortField>>,
): { readonly sortBy?: TSortField } {
  if (name === null || name === undefined) return {};
  const sortBy = Object.hasOwn(sortFields, name) ? sortFields[name] : undefined;
  if (sortBy !== undefined) return { sortBy };
  const allowed = Object.keys(sortFields).join(', ');
  throw invalid('sort_by', `Invalid sort_by: ${name}, allowed fields are: ${allowed}`);
}

function invalid(path: string, message: string): ValidationError {
  return new ValidationError('Query', [{ path, message }]);
}
