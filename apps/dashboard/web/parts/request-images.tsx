import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type SpanAddress, spanQuery } from '../data/queries.ts';
import { requestImages } from '../data/request-images.ts';

/** The inline images of a request, which are read when they are asked for. */
export function RequestImages({ address }: { readonly address: SpanAddress }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const { data, error } = useQuery({ ...spanQuery(address), enabled: isOpen });
  if (!isOpen) {
    return (
      <p>
        <button type="button" onClick={() => setOpen(true)}>
          Show images
        </button>
      </p>
    );
  }
  if (error !== null) return <p className="error">{error.message}</p>;
  if (data === undefined) return <p role="status">Loading …</p>;
  const images = requestImages(data.requestBody ?? '');
  if (images.length === 0) return <p className="muted">The request has no inline image. Others are not loaded.</p>;
  return (
    <div className="request-images">
      {images.map((url, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the images of a recorded request do not change
        <img key={index} src={url} alt={`${index + 1} of ${images.length} of the request`} />
      ))}
    </div>
  );
}
