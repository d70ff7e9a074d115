/** Items by group; groups and items keep the input order. */
export function byGroup<TItem extends { readonly groupId: string }>(
  items: readonly TItem[],
): readonly (readonly TItem[])[] {
  const groups = new Map<string, TItem[]>();
  for (const item of items) {
    const members = groups.get(item.groupId);
    if (members === undefined) groups.set(item.groupId, [item]);
    else members.push(item);
  }
  return [...groups.values()];
}
