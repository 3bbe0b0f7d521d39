//! Arguments for the editor, and the check of an edit or of a form's answer.

use countersign_core::ops::edited::misfits;
use countersign_core::ops::response;
use countersign_view::{AnswerCheck, CheckEditArgs, EditCheck, EditorText, IpcError, KeyArgs};
use countersign_wire::ErrorCode;

use crate::gui::desk::Desk;
use countersign_view::window::{answer_check, edit_check, editor_text};
use countersign_view::window::{fault, refuse};

pub(crate) async fn editable(desk: &Desk, args: KeyArgs) -> Result<EditorText, IpcError> {
    let story = desk.story(&args.key).await?;
    let Some(value) = &story.request.args else {
        return Err(refuse(
            ErrorCode::InvalidArgs,
            "this request has no arguments to edit; approve or deny it as it is",
        ));
    };
    Ok(EditorText {
        json: editor_text(value, &desk.hiding_key),
    })
}

pub(crate) async fn check_edit(desk: &Desk, args: CheckEditArgs) -> Result<EditCheck, IpcError> {
    let story = desk.story(&args.key).await?;
    let Some(value) = &story.request.args else {
        return Err(refuse(
            ErrorCode::InvalidArgs,
            "this request has no arguments to edit; approve or deny it as it is",
        ));
    };
    let schema = story
        .request
        .tool
        .as_ref()
        .and_then(|tool| tool.args_schema.as_ref());
    let key = &desk.hiding_key;
    let checked = edit_check(value, &args.json, key, |edited| {
        schema.map_or_else(Vec::new, |schema| misfits(schema, edited))
    });
    let target = checked.value.as_ref();
    Ok(EditCheck {
        target: target.map(|edited| story.typed_target(Some(edited), key)),
        ..checked.check
    })
}

pub(crate) async fn check_answer(
    desk: &Desk,
    args: CheckEditArgs,
) -> Result<AnswerCheck, IpcError> {
    let story = desk.story(&args.key).await?;
    let Some(schema) = &story.request.response_schema else {
        return Err(refuse(
            ErrorCode::InvalidArgs,
            "this request is not a form; answer it in words",
        ));
    };
    answer_check(&args.json, |answer| response::misfits(schema, answer)).map_err(fault)
}
