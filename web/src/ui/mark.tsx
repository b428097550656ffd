/** The mark: a wheel of six blades over a channel with its fall. */
export function Mark({ size = 20 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path
        fill="currentColor"
        d="M14.36 9.62L19.85 11.58A8.2 8.2 0 0 1 16.60 15.99ZM12.82 11.46L13.86 17.19A8.2 8.2 0 0 1 8.43 16.58ZM10.46 11.04L6.02 14.81A8.2 8.2 0 0 1 3.82 9.80ZM9.64 8.78L4.15 6.82A8.2 8.2 0 0 1 7.40 2.41ZM11.18 6.94L10.14 1.21A8.2 8.2 0 0 1 15.57 1.82ZM13.54 7.36L17.98 3.59A8.2 8.2 0 0 1 20.18 8.60Z"
      />
      <circle cx="12" cy="9.2" r="1.7" fill="currentColor" />
      <path
        d="M1 18.6H7.5C10.75 18.6 10.75 22 14 22H23"
        fill="none"
        stroke="var(--accent-text)"
        strokeWidth="2.1"
        strokeLinecap="round"
      />
    </svg>
  );
}
