import { type ReactNode, useEffect } from 'react';

/** The heading of a page, which is also the title of the window. */
export function PageTitle({ title, children }: { readonly title: string; readonly children?: ReactNode }): ReactNode {
  useEffect(() => {
    document.title = `${title} · Agent Lightning`;
  }, [title]);
  return (
    <div className="page-head">
      <h1 className="foreign">{title}</h1>
      {children}
    </div>
  );
}
