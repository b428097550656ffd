//! Frames of the steps of a call: their order, and their effects.

use serde_json::value::RawValue;

use super::UnderWay;
use crate::reported::checked_object;
use crate::types::Effect;
use crate::wire::WireError;

/// Props of a step that are shown, bytes; the runtime keeps them to a fourth.
const SHOWN_PROPS_BYTES_MAX: usize = 64 << 10;

impl UnderWay {
    pub(super) fn step_started(&mut self, namespace: String) -> Result<Option<Effect>, WireError> {
        // So what unfinished steps exported is held of one step at a time, and of the workflow's
        // own only.
        if self.step.is_some() || !self.steps.any(|step| step == namespace) {
            return Err(WireError::OutOfOrder("a step that is not the next one"));
        }
        self.step = Some(namespace.clone());
        Ok(Some(Effect::StepStarted { namespace }))
    }

    pub(super) fn step_props(
        &mut self,
        namespace: String,
        props: Option<&RawValue>,
    ) -> Result<Option<Effect>, WireError> {
        let props = props.ok_or(WireError::OutOfOrder("a step's props without props"))?;
        if props.get().len() > SHOWN_PROPS_BYTES_MAX || self.step.as_ref() != Some(&namespace) {
            return Ok(None);
        }
        checked_object(props, "a step's props")?;
        Ok(Some(Effect::StepProps { namespace, props: props.to_owned() }))
    }

    pub(super) fn step_exported(
        &mut self,
        namespace: String,
        exports: Option<&RawValue>,
    ) -> Result<Option<Effect>, WireError> {
        let exports =
            exports.ok_or(WireError::OutOfOrder("what a step exported without exports"))?;
        if self.step.as_ref() == Some(&namespace) && exports.get().len() <= self.result_bytes_left {
            self.failed_exports(namespace, exports)?;
        }
        Ok(None)
    }

    pub(super) fn step_finished(
        &mut self,
        namespace: String,
        duration_ms: f64,
        exports: Option<&RawValue>,
    ) -> Result<Option<Effect>, WireError> {
        let exports = exports.ok_or(WireError::OutOfOrder("a finished step without exports"))?;
        checked_object(exports, "a finished step's exports")?;
        if self.step.take().as_ref() != Some(&namespace) {
            return Err(WireError::OutOfOrder("the end of a step that is not under way"));
        }
        let (duration_ms, exports) = (duration_ms as u64, exports.to_owned());
        Ok(Some(Effect::StepFinished { namespace, duration_ms, exports }))
    }
}
