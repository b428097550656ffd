/** Fields of forms: label, control, hint and error, and the native controls. */

import "./field.css";
import { Checkbox as BaseCheckbox } from "@base-ui/react/checkbox";
import { Radio as BaseRadio } from "@base-ui/react/radio";
import { Switch as BaseSwitch } from "@base-ui/react/switch";
import { Check, CircleAlert, Eye, EyeOff, Minus, Search as SearchIcon } from "lucide-react";
import {
  type ComponentPropsWithRef,
  createContext,
  type ReactNode,
  use,
  useId,
  useState,
} from "react";
import { Banner } from "./banner";
import { IconButton, lockOf } from "./button";
import { cn } from "./cn";
import { Keys } from "./keys";
import { Tip } from "./tip";
import { worded } from "./worded";

/** What the form around them found wrong with fields, by the id of the control. */
export const FieldErrors = createContext<ReadonlyMap<string, string>>(new Map());

type Described = {
  label: ReactNode;
  /** Its name in the API, by which a refusal names it. */
  name?: string;
  optional?: boolean;
  /** What the field is for; read with it. */
  hint?: ReactNode;
  /** What is wrong, and what is allowed. */
  error?: ReactNode;
};

/** What a control needs to be read with its label, hint and error. The label has the id of the control with `-l`. */
export type ControlProps = {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
  "aria-required": true | undefined;
};

/** Whether the controls within are locked: those that are no native ones do not follow their `fieldset`. */
const Locked = createContext(false);

export const useLocked = () => use(Locked);

/** Fields of a form, which cannot be changed where they are refused; the reason is above them. */
export function Fields({
  refused,
  said = false,
  locked = false,
  className,
  children,
}: {
  refused: string | undefined;
  /** The reason stands above other fields of the same page already. */
  said?: boolean;
  /** Not to be changed for now, for a reason that is shown elsewhere. */
  locked?: boolean;
  className?: string;
  children: ReactNode;
}) {
  const id = useId();
  const isLocked = locked || Boolean(refused);
  return (
    <>
      {refused && !said && (
        <div id={id} className="fields-why">
          <Banner title={refused} />
        </div>
      )}
      <fieldset
        className={className}
        disabled={isLocked}
        aria-describedby={refused && !said ? id : undefined}
      >
        <Locked value={isLocked}>{children}</Locked>
      </fieldset>
    </>
  );
}

/** Label above, control, and one line below it. */
export function Field({
  label,
  name,
  optional = true,
  hint,
  error,
  className,
  children,
}: Described & { className?: string; children: (props: ControlProps) => ReactNode }) {
  const id = useId();
  const wrong = use(FieldErrors).get(id) ?? error;
  const below = wrong ?? hint;
  return (
    <div className={cn("field", className)} data-field={name}>
      <label id={`${id}-l`} htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        "aria-describedby": below === undefined ? undefined : `${id}-m`,
        "aria-invalid": wrong === undefined || wrong === null ? undefined : true,
        "aria-required": optional ? undefined : true,
      })}
      <Message id={`${id}-m`} error={wrong} hint={hint} />
    </div>
  );
}

/** The line below a control: the error, or else the hint. */
export function Message({ id, error, hint }: { id?: string; error?: ReactNode; hint?: ReactNode }) {
  if (error) {
    return (
      <p className="message is-bad" id={id}>
        <CircleAlert className="icon" aria-hidden="true" />
        <span>{worded(error)}</span>
      </p>
    );
  }
  return hint ? (
    <p className="message" id={id}>
      <span>{worded(hint)}</span>
    </p>
  ) : null;
}

type InputProps = ComponentPropsWithRef<"input"> & { mono?: boolean; small?: boolean };

export function Input({ mono, small, className, ...rest }: InputProps) {
  return (
    <input
      autoComplete="off"
      {...rest}
      className={cn("input", mono && "is-mono", small && "is-sm", className)}
    />
  );
}

type AreaProps = ComponentPropsWithRef<"textarea"> & { mono?: boolean };

export function TextArea({ mono, className, ...rest }: AreaProps) {
  return <textarea rows={2} {...rest} className={cn("input", mono && "is-mono", className)} />;
}

/** A password that can be looked at. */
export function Password(props: ComponentPropsWithRef<"input">) {
  const [seen, setSeen] = useState(false);
  return (
    <span className="password">
      <input {...props} className="input" type={seen ? "text" : "password"} />
      <IconButton
        icon={seen ? EyeOff : Eye}
        label={seen ? "Hide" : "Show"}
        size="sm"
        onClick={() => setSeen(!seen)}
      />
    </span>
  );
}

type SearchProps = Omit<ComponentPropsWithRef<"input">, "type"> & {
  label: string;
  wide?: boolean;
  keys?: string;
  end?: ReactNode;
};

export function Search({ label, wide = false, keys, end, className, ...rest }: SearchProps) {
  return (
    <span className={cn("search", wide && "is-wide", className)}>
      <SearchIcon className="icon is-sm" aria-hidden="true" />
      <input
        type="search"
        autoComplete="off"
        spellCheck={false}
        placeholder={label}
        {...rest}
        onKeyDown={(event) => {
          rest.onKeyDown?.(event);
          // The browser empties it at the first; the next keys are for the page.
          if (event.key === "Escape" && event.currentTarget.value === "")
            event.currentTarget.blur();
        }}
        aria-label={label}
      />
      {end ?? (keys !== undefined && <Keys of={keys} />)}
    </span>
  );
}

type ToggleProps = {
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
  /** Why it cannot be turned; it stays in the order of focus and says so. */
  refused?: string | undefined;
  "aria-label"?: string;
  "aria-labelledby"?: string;
  "aria-describedby"?: string | undefined;
  id?: string;
};

export function Switch({ onChange, disabled, refused, ...rest }: ToggleProps) {
  const locked = useLocked();
  const element = (
    <BaseSwitch.Root
      {...rest}
      {...lockOf(refused)}
      disabled={disabled || locked}
      readOnly={Boolean(refused)}
      className="switch"
      onCheckedChange={(checked) => onChange(checked)}
    >
      <BaseSwitch.Thumb className="switch-thumb" />
    </BaseSwitch.Root>
  );
  return refused ? <Tip text={refused}>{element}</Tip> : element;
}

/** A switch with its words beside it. */
export function SwitchRow({ label, ...rest }: ToggleProps & { label: ReactNode }) {
  const id = useId();
  return (
    <span className="toggle-row">
      <Switch {...rest} id={id} />
      <label htmlFor={id}>{label}</label>
    </span>
  );
}

/** `ranged`: with the shift key, which takes all from the last one to this. */
export function Checkbox({
  onChange,
  some = false,
  ...rest
}: Omit<ToggleProps, "onChange" | "refused"> & {
  onChange: (checked: boolean, ranged: boolean) => void;
  some?: boolean;
}) {
  return (
    <BaseCheckbox.Root
      {...rest}
      className="check"
      indeterminate={some}
      onCheckedChange={(checked, { event }) =>
        onChange(checked, "shiftKey" in event && event.shiftKey === true)
      }
    >
      <BaseCheckbox.Indicator render={<span />}>
        {some ? (
          <Minus className="icon" aria-hidden="true" />
        ) : (
          <Check className="icon" aria-hidden="true" />
        )}
      </BaseCheckbox.Indicator>
    </BaseCheckbox.Root>
  );
}

export function Radio({ value, label }: { value: string; label: ReactNode }) {
  const id = useId();
  return (
    <span className="toggle-row">
      <BaseRadio.Root value={value} id={id} className="radio">
        <BaseRadio.Indicator className="radio-dot" />
      </BaseRadio.Root>
      <label htmlFor={id}>{label}</label>
    </span>
  );
}

/** Brings an element into view and focuses its first control: the field that was refused. */
export function focusWithin(id: string): void {
  // What is drawn with the refusal moves the field.
  requestAnimationFrame(() => {
    const field = document.getElementById(id);
    field?.scrollIntoView({ block: "center" });
    field
      ?.querySelector<HTMLElement>("input, textarea, button, [contenteditable=true]")
      ?.focus({ preventScroll: true });
  });
}
